#include "cli/submit.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/testing/command_fixture.h"

namespace pipefill {
namespace {

class SubmitTest : public CommandFixture {
 protected:
  SubmitTest() { scheduler.submit_response.set_job_id(17); }

  // The one request that was sent.
  const v1::SubmitJobRequest& Sent() {
    EXPECT_EQ(scheduler.submitted.size(), 1U);
    return scheduler.submitted.back();
  }

  // A file of this test.
  static std::string WriteFile(const std::string& name, const std::string& text) {
    const std::string path = ::testing::TempDir() + "/" + name;
    std::ofstream(path) << text;
    return path;
  }
};

TEST_F(SubmitTest, PrintsTheNumber) {
  const Result result = Run({"submit", "--", "python3", "-c", "print(1)"});

  EXPECT_EQ(result.code, kExitOk);
  EXPECT_EQ(result.out, "job 17 submitted\n");
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(Sent().spec().command_size(), 3);
  EXPECT_EQ(Sent().spec().command(2), "print(1)");
}

TEST_F(SubmitTest, OptionsAreTheSpec) {
  Run({"submit",
       "--name",
       "embed",
       "--memory",
       "1.5GiB",
       "--env",
       "A=1",
       "--env",
       "B=x=y",
       "--workdir",
       "/data/",
       "--retries",
       "2",
       "--key",
       "k",
       "--priority",
       "-7",
       "--tenant",
       "vision",
       "--deadline",
       "2h",
       "--min-runtime",
       "5m",
       "--max-runtime",
       "3h",
       "--no-evict",
       "--allow-infeasible",
       "--label",
       "team=vision",
       "--label",
       "gpu",
       "--start-before",
       "3h",
       "--hold",
       "--",
       "run"});

  const v1::JobSpec& spec = Sent().spec();
  EXPECT_EQ(spec.name(), "embed");
  EXPECT_EQ(spec.memory_bytes(), int64_t{3} << 29);
  EXPECT_EQ(spec.env_size(), 2);
  EXPECT_EQ(spec.env().at("A"), "1");
  EXPECT_EQ(spec.env().at("B"), "x=y");
  EXPECT_EQ(spec.workdir(), "/data");
  EXPECT_EQ(spec.retries(), 2);
  EXPECT_EQ(Sent().key(), "k");
  EXPECT_EQ(spec.priority(), -7);
  EXPECT_EQ(spec.tenant(), "vision");
  EXPECT_EQ(spec.deadline_unix_ns(), absl::ToUnixNanos(time.WallNow() + absl::Hours(2)));
  EXPECT_EQ(spec.min_runtime_ns(), 300'000'000'000);
  EXPECT_EQ(spec.max_runtime_ns(), 10'800'000'000'000);
  EXPECT_TRUE(spec.not_evictable());
  EXPECT_TRUE(spec.allow_infeasible());
  EXPECT_EQ(spec.labels_size(), 2);
  EXPECT_EQ(spec.labels().at("team"), "vision");
  EXPECT_EQ(spec.labels().at("gpu"), "");
  EXPECT_EQ(spec.start_before_unix_ns(), absl::ToUnixNanos(time.WallNow() + absl::Hours(3)));
  EXPECT_TRUE(spec.hold());
}

TEST_F(SubmitTest, AgainIsTheSpecOfThatJobWithTheOptionsOverIt) {
  v1::JobSpec& spec = *AddJob(5, "embed", v1::JOB_STATE_FAILED).mutable_spec();
  spec.set_memory_bytes(7);
  spec.set_workdir("/data");
  spec.set_retries(3);
  const Result result = Run({"submit", "--again", "5", "--memory", "1GiB"});
  EXPECT_EQ(result.out, "job 17 submitted\n");
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(Sent().spec().name(), "embed");
  EXPECT_EQ(Sent().spec().command_size(), 2);
  EXPECT_EQ(Sent().spec().retries(), 3);
  EXPECT_EQ(Sent().spec().memory_bytes(), 1 << 30);
}

TEST_F(SubmitTest, AgainLeavesOutTimesThatAreOver) {
  v1::JobSpec& spec = *AddJob(5, "embed", v1::JOB_STATE_FAILED).mutable_spec();
  spec.set_start_before_unix_ns(UnixNsAgo(absl::Seconds(1)));
  spec.set_deadline_unix_ns(UnixNsAgo(-absl::Seconds(1)));
  spec.set_workdir("/data");
  const Result result = Run({"submit", "--again", "5"});
  EXPECT_EQ(result.err,
            "pipefill: note: job 5 had a start_before that is over; the new job has none\n");
  EXPECT_EQ(Sent().spec().start_before_unix_ns(), 0);
  EXPECT_NE(Sent().spec().deadline_unix_ns(), 0);
}

TEST_F(SubmitTest, AgainNeedsAJobThatIsKnownAndNoFile) {
  EXPECT_EQ(Run({"submit", "--again", "5"}).code, kExitNotFound);
  EXPECT_EQ(Run({"submit", "--again", "five"}).code, kExitUsage);
  EXPECT_EQ(Run({"submit", "job.json", "--again", "5"}).code, kExitUsage);
  EXPECT_TRUE(scheduler.submitted.empty());
}

TEST_F(SubmitTest, BadPlanningOptionsHaveOneClearLineEach) {
  EXPECT_EQ(Run({"submit", "--label", "=a", "--", "run"}).err,
            "pipefill: --label: not a label: =a; write KEY=VALUE, or KEY\n");
  EXPECT_EQ(Run({"submit", "--start-before", "soon", "--", "run"}).err.substr(0, 26),
            "pipefill: --start-before: ");
  EXPECT_EQ(Run({"submit", "--deadline", "soon", "--", "run"}).err,
            "pipefill: --deadline: \"soon\" is no time; write 2026-12-24T18:00:00Z, or 2h30m from "
            "now\n");
  EXPECT_EQ(Run({"submit", "--priority", "-1001", "--", "run"}).err,
            "pipefill: --priority: not a number: -1001; write a whole number from -1000\n");
  EXPECT_EQ(Run({"submit", "--min-runtime", "x", "--", "run"}).err.substr(0, 25),
            "pipefill: --min-runtime: ");
  EXPECT_EQ(Run({"submit", "--min-runtime", "x", "--", "run"}).code, kExitUsage);
  EXPECT_EQ(Run({"submit", "--max-runtime", "-1h", "--", "run"}).err.substr(0, 25),
            "pipefill: --max-runtime: ");
}

TEST_F(SubmitTest, ProfileIsThatOfItsFileWithTheSamplesOfTheOption) {
  const std::string file =
      WriteFile("profile.json", R"({"configurations": [{"name": "n8", "nodes": [{"time_ns": 5}]}],
                                    "samples_total": 3})");
  Run({"submit", "--profile", file, "--samples", "900", "--", "run"});
  EXPECT_EQ(Sent().spec().profile().configurations(0).name(), "n8");
  EXPECT_EQ(Sent().spec().profile().samples_total(), 900);

  EXPECT_NE(Run({"submit", "--profile", "/nowhere.json", "--", "run"}).err.find("--profile: "),
            std::string::npos);
  Run({"submit", "--", "run"});
  EXPECT_FALSE(scheduler.submitted.back().spec().has_profile());
}

TEST_F(SubmitTest, ProcessIsAWayOfItsOwn) {
  Run({"submit", "--process", "--", "xz", "big.tar"});
  Run({"submit", "--", "python3", "job.py"});

  ASSERT_EQ(scheduler.submitted.size(), 2U);
  EXPECT_EQ(scheduler.submitted[0].spec().way(), v1::FILL_WAY_PROCESS);
  EXPECT_EQ(scheduler.submitted[1].spec().way(), v1::FILL_WAY_UNSPECIFIED);
}

TEST_F(SubmitTest, WordsBehindTheDashesAreNotParsed) {
  Run({"submit", "--", "run", "--name", "x", "--", "-h"});

  EXPECT_EQ(Sent().spec().name(), "");
  EXPECT_EQ(Sent().spec().command_size(), 5);
}

TEST_F(SubmitTest, EachSubmissionHasItsOwnKey) {
  Run({"submit", "--", "run"});
  Run({"submit", "--", "run"});

  ASSERT_EQ(scheduler.submitted.size(), 2U);
  EXPECT_NE(scheduler.submitted[0].key(), "");
  EXPECT_NE(scheduler.submitted[0].key(), scheduler.submitted[1].key());
}

TEST_F(SubmitTest, SaysThatAKeyWasUsedBefore) {
  scheduler.submit_response.set_already_existed(true);

  EXPECT_EQ(Run({"submit", "--key", "k", "--", "run"}).out,
            "job 17 was submitted before with this key\n");
}

TEST_F(SubmitTest, OtherFormatsAreForPrograms) {
  EXPECT_EQ(Run({"submit", "-o", "name", "--", "run"}).out, "17\n");
  EXPECT_EQ(Run({"submit", "-o", "json", "--", "run"}).out,
            "{\n"
            "  \"job_id\": 17,\n"
            "  \"already_existed\": false\n"
            "}\n");
}

TEST_F(SubmitTest, RelativeFolderStartsWhereTheUserIs) {
  Run({"submit", "--workdir", ".", "--", "run"});

  EXPECT_EQ(Sent().spec().workdir() + "/", ::testing::TempDir());
}

TEST_F(SubmitTest, WarnsAboutAFileThatTheJobWillNotSee) {
  WriteFile("job.py", "");

  const Result result = Run({"submit", "--", "python3", "job.py"});

  EXPECT_EQ(result.out, "job 17 submitted\n");
  EXPECT_EQ(result.err,
            "pipefill: note: job.py is a file here, but the job runs in a folder of its own; "
            "'--workdir .' runs it here\n");
  EXPECT_EQ(Run({"submit", "--workdir", ".", "--", "python3", "job.py"}).err, "");
}

TEST_F(SubmitTest, FileIsTheSpecAndOptionsGoOverIt) {
  const std::string path = WriteFile("job.json", R"({
    // a comment
    "name": "embed",
    "command": ["python3", "embed.py"],
    "memory": "1GiB",
    "env": {"A": "1", "B": "2"},
    "retries": 3
  })");

  Run({"submit", path, "--env", "A=9", "--memory", "2GiB"});

  const v1::JobSpec& spec = Sent().spec();
  EXPECT_EQ(spec.name(), "embed");
  EXPECT_EQ(spec.command(1), "embed.py");
  EXPECT_EQ(spec.memory_bytes(), int64_t{2} << 30);
  EXPECT_EQ(spec.env().at("A"), "9");
  EXPECT_EQ(spec.env().at("B"), "2");
  EXPECT_EQ(spec.retries(), 3);
}

TEST_F(SubmitTest, DashIsStandardInput) {
  Run({"submit", "-"}, R"({"command": ["run"]})");

  EXPECT_EQ(Sent().spec().command(0), "run");
}

TEST_F(SubmitTest, WithoutACommandItSaysHowToNameOne) {
  const Result result = Run({"submit", "--name", "x"});

  EXPECT_EQ(result.code, kExitUsage);
  EXPECT_EQ(
      result.err,
      "pipefill: no command to run; put it behind --, as: pipefill submit -- python3 job.py\n");
  EXPECT_TRUE(scheduler.submitted.empty());
}

TEST_F(SubmitTest, FileWithoutACommandIsNamed) {
  const Result result = Run({"submit", "-"}, "{}");

  EXPECT_EQ(result.code, kExitUsage);
  EXPECT_EQ(result.err,
            "pipefill: standard input: command: missing; name the program and its arguments, as "
            "\"command\": [\"python3\", \"job.py\"]\n");
}

TEST_F(SubmitTest, CommandWithoutDashesGetsAdvice) {
  const Result result = Run({"submit", "python3", "job.py"});

  EXPECT_EQ(result.code, kExitUsage);
  EXPECT_EQ(result.err,
            "pipefill: unexpected word: job.py; put the program and its arguments behind --\n");
}

TEST_F(SubmitTest, MissingFileIsNotFound) {
  const Result result = Run({"submit", "/nonexistent/job.json"});

  EXPECT_EQ(result.code, kExitNotFound);
  EXPECT_EQ(result.err,
            "pipefill: cannot read the job file: open /nonexistent/job.json: No such file or "
            "directory; to run a program write: pipefill submit -- /nonexistent/job.json\n");
}

TEST_F(SubmitTest, BadValuesNameTheirOption) {
  EXPECT_EQ(Run({"submit", "--memory", "12Q", "--", "run"}).err,
            "pipefill: --memory: not a size: \"12Q\"; write for example 512MiB, 8GiB or 100000 "
            "(bytes)\n");
  EXPECT_EQ(Run({"submit", "--memory", "0", "--", "run"}).err,
            "pipefill: --memory: must be more than 0; write for example 512MiB\n");
  EXPECT_EQ(Run({"submit", "--env", "A", "--", "run"}).err,
            "pipefill: --env: not a variable: A; write NAME=VALUE\n");
  EXPECT_EQ(Run({"submit", "--retries", "-1", "--", "run"}).err,
            "pipefill: --retries: not a number: -1; write a whole number from 0\n");
  EXPECT_TRUE(scheduler.submitted.empty());
}

TEST_F(SubmitTest, RefusalKeepsItsTextAndCode) {
  scheduler.error = absl::ResourceExhaustedError(
      "memory over every device: need=64 GiB most=2 GiB; ask for less with --memory");

  const Result result = Run({"submit", "--memory", "64GiB", "--", "run"});

  EXPECT_EQ(result.code, kExitRefused);
  EXPECT_EQ(result.err,
            "pipefill: memory over every device: need=64 GiB most=2 GiB; ask for less with "
            "--memory\n");
}

TEST_F(SubmitTest, UnknownResultNamesTheKeyToRepeatWith) {
  scheduler.error = absl::DeadlineExceededError("no answer in time");

  const Result result = Run({"submit", "--key", "k", "--", "run"});

  EXPECT_EQ(result.code, kExitUnavailable);
  EXPECT_EQ(result.err,
            "pipefill: result unknown, the job may be submitted: key=k; repeat with --key k, which "
            "submits it only once (no answer in time)\n");
}

TEST_F(SubmitTest, WaitReturnsHowTheJobEnded) {
  AddJob(17, "embed", v1::JOB_STATE_RUNNING);
  scheduler.on_wait = [this] {
    v1::Job& job = scheduler.jobs[17];
    job.set_state(v1::JOB_STATE_FAILED);
    job.set_end_text("exit code 1");
    job.set_ended_unix_ns(UnixNsAgo(absl::ZeroDuration()));
  };

  const Result result = Run({"submit", "--wait", "--", "run"});

  EXPECT_EQ(result.code, kExitJobFailed);
  EXPECT_EQ(result.out,
            "job 17 submitted\n"
            "job 17 failed after 3m14s: exit code 1\n");
}

TEST_F(SubmitTest, WaitingInJsonPrintsOneObject) {
  AddJob(17, "embed", v1::JOB_STATE_SUCCEEDED);

  const Result result = Run({"submit", "--wait", "-o", "json", "--", "run"});

  EXPECT_EQ(nlohmann::json::parse(result.out)["state"], "succeeded");
}

TEST_F(SubmitTest, ArrayAndDependenciesAreTheSpec) {
  const Result result = Run({"submit", "--array", "0-9:3,20%2", "--after-ok", "3,4", "--after-ok",
                             "5", "--after-any", "6", "--after-not-ok", "7", "--", "run"});
  EXPECT_EQ(result.out, "job 17 submitted, 5 tasks\n");
  const v1::JobSpec& spec = Sent().spec();
  ASSERT_EQ(spec.array().ranges_size(), 2);
  EXPECT_EQ(spec.array().ranges(0).last(), 9);
  EXPECT_EQ(spec.array().ranges(0).step(), 3);
  EXPECT_EQ(spec.array().throttle(), 2);
  ASSERT_EQ(spec.dependencies_size(), 5);
  EXPECT_EQ(spec.dependencies(2).job_id(), 5);
  EXPECT_EQ(spec.dependencies(2).condition(), v1::DEPENDENCY_CONDITION_OK);
  EXPECT_EQ(spec.dependencies(3).condition(), v1::DEPENDENCY_CONDITION_ANY);
  EXPECT_EQ(spec.dependencies(4).condition(), v1::DEPENDENCY_CONDITION_NOT_OK);
}

TEST_F(SubmitTest, BadArraysAndDependenciesAreNamed) {
  const Result array = Run({"submit", "--array", "9-", "--", "run"});
  EXPECT_EQ(array.code, kExitUsage);
  EXPECT_EQ(array.err,
            "pipefill: --array: \"9-\" names no indexes; write for example 0-99, 0-10:2, 1,5,7-9 "
            "or 0-99%10\n");
  const Result job = Run({"submit", "--after-ok", "all", "--", "run"});
  EXPECT_EQ(job.err,
            "pipefill: --after-ok: \"all\" is not the number of a job; 'pipefill jobs' lists "
            "them\n");
  EXPECT_TRUE(scheduler.submitted.empty());
}

TEST_F(SubmitTest, JobFileMayHoldThemToo) {
  const std::string file =
      WriteFile("array.json",
                R"({"command": ["run"], "array": "1-3", "after_ok": [4], "after_any": [5, 6]})");
  Run({"submit", file});
  EXPECT_EQ(Sent().spec().array().ranges(0).last(), 3);
  ASSERT_EQ(Sent().spec().dependencies_size(), 3);
  EXPECT_EQ(Sent().spec().dependencies(0).job_id(), 4);
}

}  // namespace
}  // namespace pipefill
