#include "cli/jobs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "cli/testing/command_fixture.h"

namespace pipefill {
namespace {

class JobsTest : public CommandFixture {
 protected:
  // One job in every state.
  void AddOneOfEach() {
    v1::Job& succeeded = AddJob(1, "embed", v1::JOB_STATE_SUCCEEDED);
    AddAttempt(succeeded).mutable_progress()->set_units(12'345);
    EndAttempt(succeeded, v1::END_CAUSE_EXITED, "exit code 0");
    v1::Job& failed = AddJob(2, "train", v1::JOB_STATE_FAILED);
    failed.set_end_text("exit code 1");
    AddAttempt(failed);
    EndAttempt(failed, v1::END_CAUSE_EXITED, "exit code 1");
    AddJob(3, "", v1::JOB_STATE_CANCELLED);
    v1::Job& running = AddJob(4, "graph", v1::JOB_STATE_RUNNING);
    AddAttempt(running).mutable_progress()->set_units(7);
    v1::Job& pending =
        AddJob(5, "a-job-with-a-name-that-does-not-fit-its-column-at-all", v1::JOB_STATE_PENDING);
    pending.set_pending_reason(v1::PENDING_REASON_NO_MAIN_JOB);
    pending.set_pending_text("no main job is attached to any of 2 devices");
  }
};

TEST_F(JobsTest, ListsNewestFirstInsideEightyColumns) {
  AddOneOfEach();

  const Result result = Run({"jobs"});

  EXPECT_EQ(result.code, kExitOk);
  EXPECT_EQ(result.out,
            "ID  NAME                STATE      DEVICE       UNITS    AGE  DETAIL\n"
            " 5  a-job-with-a-na...  pending    -                -  3m12s  no main job to ...\n"
            " 4  graph               running    node1/cpu0       7  3m12s  -\n"
            " 3  python3             cancelled  -                -  3m12s  -\n"
            " 2  train               failed     node1/cpu0       0  3m12s  exit code 1\n"
            " 1  embed               succeeded  node1/cpu0  12,345  3m12s  -\n");
  EXPECT_EQ(result.err, "");
}

TEST_F(JobsTest, SaysHowToSubmitWhenThereAreNone) {
  const Result result = Run({"jobs"});

  EXPECT_EQ(result.code, kExitOk);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err,
            "pipefill: no jobs yet; submit one with: pipefill submit -- python3 job.py\n");
}

TEST_F(JobsTest, ActiveLeavesOutEndedOnes) {
  AddOneOfEach();

  EXPECT_EQ(Run({"jobs", "--active", "-o", "name"}).out, "5\n4\n");
}

TEST_F(JobsTest, SaysWhereEndedOnesAreWhenNoneIsActive) {
  AddJob(1, "embed", v1::JOB_STATE_SUCCEEDED);

  const Result result = Run({"jobs", "--active"});

  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err,
            "pipefill: no job is pending or running; 'pipefill jobs' lists ended ones too\n");
}

TEST_F(JobsTest, SaysThatOlderOnesAreNotShown) {
  for (int64_t id = 1; id <= 21; ++id) AddJob(id, "embed", v1::JOB_STATE_SUCCEEDED);

  const Result result = Run({"jobs", "-o", "name"});
  const Result table = Run({"jobs"});

  EXPECT_EQ(result.out.substr(0, 6), "21\n20\n");
  EXPECT_EQ(result.out.substr(result.out.size() - 4), "3\n2\n");
  EXPECT_EQ(table.err, "pipefill: older jobs are not shown; 'pipefill jobs --all' lists all\n");
}

TEST_F(JobsTest, AllReadsPageAfterPage) {
  std::string expected;
  for (int64_t id = 1; id <= 450; ++id) {
    AddJob(id, "embed", v1::JOB_STATE_SUCCEEDED);
    expected = absl::StrCat(id, "\n", expected);
  }

  EXPECT_EQ(Run({"jobs", "--all", "-o", "name"}).out, expected);
}

TEST_F(JobsTest, LimitHoldsAcrossPages) {
  for (int64_t id = 1; id <= 450; ++id) AddJob(id, "embed", v1::JOB_STATE_SUCCEEDED);

  const std::string out = Run({"jobs", "--limit", "300", "-o", "name"}).out;

  EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), 300);
}

TEST_F(JobsTest, JsonHasWordsAndRawUnits) {
  AddOneOfEach();
  scheduler.jobs[5].mutable_spec()->set_memory_bytes(512 << 20);

  const auto json = nlohmann::json::parse(Run({"jobs", "-o", "json"}).out);

  EXPECT_EQ(json["has_more"], false);
  ASSERT_EQ(json["jobs"].size(), 5U);
  EXPECT_EQ(json["jobs"][0]["state"], "pending");
  EXPECT_EQ(json["jobs"][0]["pending_reason"], "no_main_job");
  EXPECT_EQ(json["jobs"][0]["pending_text"], "no main job is attached to any of 2 devices");
  EXPECT_EQ(json["jobs"][0]["memory_bytes"], 512 << 20);
  EXPECT_EQ(json["jobs"][1]["attempts"][0]["progress"]["units"], 7);
  EXPECT_EQ(json["jobs"][2]["name"], "python3");
  EXPECT_EQ(json["jobs"][4]["submitted_unix_ns"], UnixNsAgo(absl::Seconds(192)));
}

TEST_F(JobsTest, JsonOfNothingIsAnEmptyList) {
  EXPECT_EQ(Run({"jobs", "-o", "json"}).out,
            "{\n"
            "  \"jobs\": [],\n"
            "  \"has_more\": false\n"
            "}\n");
}

TEST_F(JobsTest, FilterIsSentAsItIs) {
  const Result result = Run({"jobs", "-l", "team=a", "--tenant", "vision", "--name", "embed",
                             "--state", "failed", "--state", "pending"});
  EXPECT_EQ(result.err, "pipefill: no job fits; 'pipefill jobs' lists all\n");
  EXPECT_EQ(scheduler.listed.selector(), "team=a");
  EXPECT_EQ(scheduler.listed.tenant(), "vision");
  EXPECT_EQ(scheduler.listed.name(), "embed");
  ASSERT_EQ(scheduler.listed.states_size(), 2);
  EXPECT_EQ(scheduler.listed.states(0), v1::JOB_STATE_FAILED);
  EXPECT_FALSE(scheduler.listed.held_only());
  Run({"jobs", "--held"});
  EXPECT_TRUE(scheduler.listed.held_only());
  EXPECT_EQ(
      Run({"jobs", "--state", "asleep"}).err,
      "pipefill: --state: unknown state: asleep; choose pending, running, succeeded, failed or "
      "cancelled\n");
}

TEST_F(JobsTest, HeldJobIsCalledSo) {
  AddJob(17, "embed", v1::JOB_STATE_PENDING).set_pending_reason(v1::PENDING_REASON_HELD);
  EXPECT_NE(Run({"jobs"}).out.find("held by a user"), std::string::npos);
}

TEST_F(JobsTest, TextOfOthersCannotMoveTheCursor) {
  v1::Job& job = AddJob(1, "embed", v1::JOB_STATE_FAILED);
  job.set_end_text("bad\x1b[2J\nnews");

  EXPECT_NE(Run({"jobs"}).out.find("bad?[2J?news"), std::string::npos);
}

TEST_F(JobsTest, PrioritiesAndTenantsHaveAColumnOnceThereAreAny) {
  AddJob(17, "embed", v1::JOB_STATE_PENDING).mutable_spec()->set_tenant("default");
  EXPECT_EQ(Run({"jobs"}).out.find("PRIO"), std::string::npos);
  EXPECT_EQ(Run({"jobs"}).out.find("TENANT"), std::string::npos);
  v1::JobSpec& spec = *AddJob(18, "tune", v1::JOB_STATE_PENDING).mutable_spec();
  spec.set_priority(-3);
  spec.set_tenant("vision");
  const std::string out = Run({"jobs"}).out;
  EXPECT_NE(out.find("STATE    PRIO  TENANT"), std::string::npos) << out;
  EXPECT_NE(out.find("pending    -3  vision"), std::string::npos) << out;
}

TEST_F(JobsTest, ArrayIsOneLineAndItsTasksAreListedByItsNumber) {
  AddArray(4);
  v1::Job& task = AddJob(6, "sweep", v1::JOB_STATE_RUNNING);
  task.set_array_id(4);
  task.set_array_index(5);
  AddAttempt(task);

  EXPECT_EQ(Run({"jobs"}).out,
            "ID  NAME   STATE    DEVICE  UNITS    AGE  DETAIL\n"
            " 4  sweep  running  -           -  3m12s  1/3 done, 1 failed, 1 running\n");
  EXPECT_EQ(Run({"jobs", "--array", "4"}).out,
            " ID  NAME   STATE    DEVICE      UNITS    AGE  DETAIL\n"
            "4_5  sweep  running  node1/cpu0      0  3m12s  -\n");
  EXPECT_EQ(Run({"jobs", "--array", "9"}).err,
            "pipefill: no task of job 9 waits, runs or ended lately; see 'pipefill job show 9'\n");
}

}  // namespace
}  // namespace pipefill
