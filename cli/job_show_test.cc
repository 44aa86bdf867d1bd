#include "cli/job_show.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "cli/testing/command_fixture.h"

namespace pipefill {
namespace {

class JobShowTest : public CommandFixture {};

TEST_F(JobShowTest, ShowsWhatAPendingJobWaitsFor) {
  v1::Job& job = AddJob(17, "embed", v1::JOB_STATE_PENDING);
  job.set_pending_reason(v1::PENDING_REASON_MEMORY);
  job.set_pending_text("needs 512 MiB, the best device has 312 MiB free: node1/cpu0");

  const Result result = Run({"job", "show", "17"});

  EXPECT_EQ(result.code, kExitOk);
  EXPECT_EQ(result.out,
            "job 17: embed\n"
            "  state      pending\n"
            "  reason     needs 512 MiB, the best device has 312 MiB free: node1/cpu0\n"
            "  submitted  3m12s ago\n"
            "  command    python3 job.py\n"
            "  workdir    a folder of its own\n"
            "  memory     the scheduler's default\n"
            "  retries    none\n"
            "  priority   0\n"
            "\n"
            "no attempts yet\n");
}

TEST_F(JobShowTest, ShowsLabelsStartAndHistory) {
  v1::Job& job = AddJob(17, "embed", v1::JOB_STATE_RUNNING);
  (*job.mutable_spec()->mutable_labels())["team"] = "vision";
  (*job.mutable_spec()->mutable_labels())["gpu"] = "";
  job.mutable_spec()->set_start_before_unix_ns(UnixNsAgo(-absl::Hours(1)));
  job.set_held(true);
  AddAttempt(job);
  const auto add = [&](int ago, v1::JobStepKind kind, v1::JobActor actor) -> v1::JobStep& {
    v1::JobStep& step = *job.add_history();
    step.set_unix_ns(UnixNsAgo(absl::Seconds(ago)));
    step.set_kind(kind);
    step.set_actor(actor);
    return step;
  };
  add(192, v1::JOB_STEP_SUBMITTED, v1::JOB_ACTOR_USER);
  v1::JobStep& placed = add(121, v1::JOB_STEP_PLACED, v1::JOB_ACTOR_SCHEDULER);
  placed.set_attempt(1);
  placed.set_text("on node1/cpu0");
  v1::JobStep& started = add(120, v1::JOB_STEP_STARTED, v1::JOB_ACTOR_AGENT);
  started.set_attempt(1);
  started.set_node("node1");
  add(60, v1::JOB_STEP_HELD, v1::JOB_ACTOR_USER).set_text("too loud");

  const std::string out = Run({"job", "show", "17"}).out;

  EXPECT_THAT(out, testing::HasSubstr("  held          yes, once it waits again\n"));
  EXPECT_THAT(out, testing::HasSubstr("  start before  met\n"));
  EXPECT_THAT(out, testing::HasSubstr("  labels        gpu, team=vision\n"));
  EXPECT_THAT(out, testing::HasSubstr("history\n"
                                      "     WHEN  WHO          WHAT       #  WHY\n"
                                      "3m12s ago  user         submitted  -  -\n"
                                      " 2m1s ago  scheduler    placed     1  on node1/cpu0\n"
                                      " 2m0s ago  agent node1  started    1  -\n"
                                      " 1m0s ago  user         held       -  too loud\n"));
}

TEST_F(JobShowTest, JsonHasLabelsHoldAndHistory) {
  v1::Job& job = AddJob(17, "embed", v1::JOB_STATE_FAILED);
  (*job.mutable_spec()->mutable_labels())["team"] = "vision";
  job.mutable_spec()->set_start_before_unix_ns(7);
  job.set_end_cause(v1::END_CAUSE_NOT_STARTED);
  v1::JobStep& step = *job.add_history();
  step.set_unix_ns(5);
  step.set_kind(v1::JOB_STEP_ATTEMPT_ENDED);
  step.set_actor(v1::JOB_ACTOR_AGENT);
  step.set_node("node1");
  step.set_attempt(2);

  const auto json = nlohmann::json::parse(Run({"job", "show", "17", "-o", "json"}).out);

  EXPECT_EQ(json["labels"]["team"], "vision");
  EXPECT_EQ(json["start_before_unix_ns"], 7);
  EXPECT_EQ(json["held"], false);
  EXPECT_EQ(json["end_cause"], "not_started");
  EXPECT_EQ(json["history"][0]["what"], "attempt_ended");
  EXPECT_EQ(json["history"][0]["who"], "agent");
  EXPECT_EQ(json["history"][0]["node"], "node1");
  EXPECT_EQ(json["history"][0]["attempt"], 2);
}

TEST_F(JobShowTest, SaysWhoseProfileTheJobHas) {
  v1::Job& job = AddJob(17, "embed", v1::JOB_STATE_PENDING);
  job.set_profile_source("learned by job 12");
  EXPECT_THAT(Run({"job", "show", "17"}).out,
              testing::HasSubstr("  profile    learned by job 12\n"));
  job.mutable_spec()->mutable_profile()->add_configurations();
  EXPECT_THAT(Run({"job", "show", "17"}).out,
              testing::HasSubstr("  profile    its own, 1 configuration\n"));
}

TEST_F(JobShowTest, ShowsAttemptsAndProgressOfARunningJob) {
  v1::Job& job = AddJob(17, "embed", v1::JOB_STATE_RUNNING);
  job.mutable_spec()->set_memory_bytes(512 << 20);
  job.mutable_spec()->set_workdir("/data");
  job.mutable_spec()->set_retries(2);
  (*job.mutable_spec()->mutable_env())["B"] = "two words";
  (*job.mutable_spec()->mutable_env())["A"] = "1";
  job.mutable_spec()->add_command("it's here");
  AddAttempt(job);
  EndAttempt(job, v1::END_CAUSE_LOST, "its agent was lost: node=node1 silent=15s");
  v1::FillProgress& progress = *AddAttempt(job).mutable_progress();
  progress.set_units(12'345);
  progress.set_unit_cpu_ns(61'700'000'000);
  progress.set_unit_cpu_in_bubble_ns(60'600'000'000);
  progress.set_overrun_ns(1'100'000'000);
  progress.set_task_cpu_ns(65'000'000'000);
  progress.set_unit_estimate_ns(5'120'000);
  progress.set_bubbles_denied(42);
  progress.set_memory_peak_bytes(300 << 20);
  progress.set_resumed_from("the beginning");

  const Result result = Run({"job", "show", "17"});

  EXPECT_EQ(result.out,
            "job 17: embed\n"
            "  state      running\n"
            "  submitted  3m12s ago\n"
            "  command    python3 job.py 'it'\\''s here'\n"
            "  env        A=1\n"
            "  env        B=two words\n"
            "  workdir    /data\n"
            "  memory     512 MiB\n"
            "  retries    up to 2\n"
            "  priority   0\n"
            "\n"
            "attempts\n"
            "#  DEVICE      STATE      PLACED   RAN  END\n"
            "1  node1/cpu0  ended    2m1s ago  1m0s  its agent was lost: node=node1 silent...\n"
            "2  node1/cpu0  running  2m1s ago  2m0s  -\n"
            "\n"
            "progress of attempt 2\n"
            "  units         12,345\n"
            "  CPU of units  1m2s, 98.2 % of it inside bubbles\n"
            "  overrun       1.1 s\n"
            "  CPU in all    1m5s\n"
            "  next unit     about 5.12 ms\n"
            "  memory peak   300 MiB of 512 MiB\n"
            "\n"
            "what it has saved\n"
            "  began with   the beginning\n"
            "  checkpoints  0\n"
            "\n"
            "how it was held back\n"
            "  bubbles denied   42: its next unit did not fit what was left\n"
            "  units late       none\n"
            "  bubbles skipped  none\n"
            "  overstays        none\n"
            "  freezes          none\n");
}

TEST_F(JobShowTest, ShowsHowAProgramIsStoppedAndHeldToItsCap) {
  v1::Job& job = AddJob(17, "embed", v1::JOB_STATE_RUNNING);
  job.mutable_spec()->set_way(v1::FILL_WAY_PROCESS);
  job.mutable_spec()->set_memory_bytes(512 << 20);
  job.set_memory_bytes(1024 << 20);
  v1::FillProgress& progress = *AddAttempt(job).mutable_progress();
  progress.set_memory_peak_bytes(300 << 20);
  progress.set_memory_guard("control group (version 1)");
  progress.set_stopped_by("control group freezer");

  const std::string out = Run({"job", "show", "17"}).out;

  EXPECT_NE(out.find("  memory     1 GiB, after an attempt ran out of 512 MiB\n"),
            std::string::npos)
      << out;
  EXPECT_NE(out.find("  way        process: the whole program runs in bubbles only\n"),
            std::string::npos)
      << out;
  EXPECT_NE(out.find("  memory peak   300 MiB of 1 GiB\n"
                     "  memory cap    control group (version 1)\n"
                     "  stopped by    control group freezer\n"),
            std::string::npos)
      << out;
  const auto json = nlohmann::json::parse(Run({"job", "show", "17", "-o", "json"}).out);
  EXPECT_EQ(json["way"], "process");
  EXPECT_EQ(json["memory_raised_bytes"], 1024 << 20);
  EXPECT_EQ(json["attempts"][0]["progress"]["stopped_by"], "control group freezer");
}

TEST_F(JobShowTest, ShowsWhatAnAttemptWentOnFromAndHasSaved) {
  v1::FillProgress& progress =
      *AddAttempt(AddJob(17, "embed", v1::JOB_STATE_RUNNING)).mutable_progress();
  progress.set_resumed_from("checkpoint 3 of the attempt with fence 5, 12.3 s of work");
  progress.set_checkpoints(7);
  progress.set_checkpoint_failures(1);
  progress.set_checkpoint_ns(12'000'000);
  progress.set_checkpoint_unix_ns(UnixNsAgo(absl::Seconds(121)));

  const std::string out = Run({"job", "show", "17"}).out;

  const size_t begin = out.find("what it has saved");
  EXPECT_EQ(out.substr(begin, out.find("\nhow it was") - begin),
            "what it has saved\n"
            "  began with   checkpoint 3 of the attempt with fence 5, 12.3 s of work\n"
            "  checkpoints  7, the last one 2m1s ago, which took 12 ms\n"
            "  failed ones  1: its log says why\n");
  const auto json = nlohmann::json::parse(Run({"job", "show", "17", "-o", "json"}).out);
  EXPECT_EQ(json["attempts"][0]["progress"]["checkpoints"], 7);
  EXPECT_EQ(json["attempts"][0]["progress"]["resumed_from"], progress.resumed_from());
}

TEST_F(JobShowTest, ShowsEveryRungOfTheLadderInsideEightyColumns) {
  v1::Job& job = AddJob(17, "embed", v1::JOB_STATE_RUNNING);
  v1::FillProgress& progress = *AddAttempt(job).mutable_progress();
  progress.set_units(12'345);
  progress.set_units_overrun(12);
  progress.set_bubbles_skipped(3);
  progress.set_overstays(2);
  progress.set_processes_denied(7);
  progress.set_log_error("write: No space left on device");
  progress.set_freezes(1);

  const std::string out = Run({"job", "show", "17"}).out;

  EXPECT_EQ(out.substr(out.find("how it was")),
            "how it was held back\n"
            "  bubbles denied   none\n"
            "  units late       12, 0.1 % of all: ended after their bubble; later ones are\n"
            "                   expected to be longer\n"
            "  bubbles skipped  3: closed to this job alone after late units\n"
            "  overstays        2: units that worked on after their bubble\n"
            "  freezes          1: stopped for it (SIGSTOP) until the main job was idle again\n"
            "  processes        7 more were refused: it has as many as processes_max allows\n");
  EXPECT_NE(out.find("ends early: write: No space left on device\n"), std::string::npos) << out;
  const auto json = nlohmann::json::parse(Run({"job", "show", "17", "-o", "json"}).out);
  EXPECT_EQ(json["attempts"][0]["progress"]["units_overrun"], 12);
  EXPECT_EQ(json["attempts"][0]["progress"]["freezes"], 1);
}

TEST_F(JobShowTest, ShowsTheForecast) {
  v1::Job& job = AddJob(17, "embed", v1::JOB_STATE_RUNNING);
  AddAttempt(job).set_configuration("n8");
  v1::Forecast& forecast = *job.mutable_forecast();
  forecast.set_rate(100);
  forecast.set_rate_low(90);
  forecast.set_rate_high(110);
  forecast.set_finish_unix_ns(UnixNsAgo(-absl::Minutes(3)));
  forecast.set_configuration("n8");
  forecast.set_text("from its profile");

  const std::string out = Run({"job", "show", "17"}).out;

  EXPECT_NE(out.find("\nforecast\n  rate           100 samples/s, between 90 and 110\n"),
            std::string::npos)
      << out;
  for (const auto& words : {std::vector<std::string>{"job", "show", "17", "-o", "json"},
                            std::vector<std::string>{"jobs", "-o", "json"}}) {
    auto json = nlohmann::json::parse(Run(words).out);
    if (json.contains("jobs")) json = json["jobs"][0];
    EXPECT_EQ(json["forecast"]["rate_high"], 110);
    EXPECT_EQ(json["forecast"]["configuration"], "n8");
    EXPECT_FALSE(json["forecast"].contains("finish_latest_unix_ns"));
    EXPECT_EQ(json["attempts"][0]["configuration"], "n8");
  }
}

TEST_F(JobShowTest, ShowsHowAJobEnded) {
  v1::Job& job = AddJob(17, "embed", v1::JOB_STATE_FAILED);
  job.set_end_text("exit code 1");
  AddAttempt(job);
  EndAttempt(job, v1::END_CAUSE_EXITED, "exit code 1");

  const Result result = Run({"job", "show", "17"});

  EXPECT_EQ(result.out,
            "job 17: embed\n"
            "  state      failed\n"
            "  end        exit code 1\n"
            "  submitted  3m12s ago\n"
            "  ended      1m0s ago\n"
            "  command    python3 job.py\n"
            "  workdir    a folder of its own\n"
            "  memory     the scheduler's default\n"
            "  retries    none\n"
            "  priority   0\n"
            "\n"
            "attempts\n"
            "#  DEVICE      STATE    PLACED   RAN  END\n"
            "1  node1/cpu0  ended  2m1s ago  1m0s  exit code 1\n");
}

TEST_F(JobShowTest, ShowsNoProgressOfWhatNeverStarted) {
  v1::Job& job = AddJob(17, "embed", v1::JOB_STATE_FAILED);
  v1::Attempt& attempt = AddAttempt(job);
  attempt.set_started_unix_ns(0);
  attempt.mutable_progress();
  EndAttempt(job, v1::END_CAUSE_LAUNCH_FAILED, "command not found: embed");

  const std::string out = Run({"job", "show", "17"}).out;

  EXPECT_EQ(out.find("progress"), std::string::npos);
  EXPECT_NE(out.find("1  node1/cpu0  ended  2m1s ago    -  command not found: embed\n"),
            std::string::npos);
}

TEST_F(JobShowTest, JsonHasEveryFieldOfAnAttempt) {
  v1::Job& job = AddJob(17, "embed", v1::JOB_STATE_FAILED);
  (*job.mutable_spec()->mutable_env())["A"] = "1";
  AddAttempt(job);
  EndAttempt(job, v1::END_CAUSE_SIGNALLED, "signal 11");
  job.mutable_attempts(0)->set_signal(11);
  job.mutable_attempts(0)->mutable_progress()->set_memory_peak_bytes(7);

  const auto json = nlohmann::json::parse(Run({"job", "show", "17", "-o", "json"}).out);

  EXPECT_EQ(json["id"], 17);
  EXPECT_EQ(json["env"], nlohmann::json({{"A", "1"}}));
  EXPECT_EQ(json["command"], nlohmann::json({"python3", "job.py"}));
  const auto& attempt = json["attempts"][0];
  EXPECT_EQ(attempt["number"], 1);
  EXPECT_EQ(attempt["fence"], 101);
  EXPECT_EQ(attempt["node"], "node1");
  EXPECT_EQ(attempt["device"], "cpu0");
  EXPECT_EQ(attempt["state"], "ended");
  EXPECT_EQ(attempt["end_cause"], "signalled");
  EXPECT_EQ(attempt["signal"], 11);
  EXPECT_FALSE(attempt.contains("exit_code"));
  EXPECT_EQ(attempt["progress"]["memory_peak_bytes"], 7);
}

TEST_F(JobShowTest, UnknownJobIsOneLineAndNotFound) {
  const Result result = Run({"job", "show", "4711"});

  EXPECT_EQ(result.code, kExitNotFound);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err, "pipefill: no such job: job=4711; 'pipefill jobs' lists the known ones\n");
}

TEST_F(JobShowTest, NumbersOnly) {
  const Result result = Run({"job", "show", "embed"});

  EXPECT_EQ(result.code, kExitUsage);
  EXPECT_EQ(result.err, "pipefill: not the number of a job: embed; 'pipefill jobs' lists them\n");
}

TEST_F(JobShowTest, ShowsHowLongItMayRun) {
  AddJob(17, "embed", v1::JOB_STATE_PENDING).mutable_spec()->set_max_runtime_ns(7'200'000'000'000);
  const std::string out = Run({"job", "show", "17"}).out;
  EXPECT_NE(out.find("  max runtime  2h0m\n"), std::string::npos) << out;
}

TEST_F(JobShowTest, ShowsPriorityTenantAndDeadline) {
  v1::Job& job = AddJob(17, "embed", v1::JOB_STATE_PENDING);
  job.mutable_spec()->set_priority(5);
  job.mutable_spec()->set_tenant("vision");
  job.mutable_spec()->set_min_runtime_ns(30'000'000'000);
  job.mutable_spec()->set_deadline_unix_ns(UnixNsAgo(-absl::Minutes(90)));
  std::string out = Run({"job", "show", "17"}).out;
  EXPECT_NE(out.find("  priority   5; runs for 30 s before it may be evicted\n"), std::string::npos)
      << out;
  EXPECT_NE(out.find("  tenant     vision\n"), std::string::npos) << out;
  EXPECT_NE(out.find("  deadline   in 1h30m\n"), std::string::npos) << out;

  job.mutable_spec()->set_not_evictable(true);
  job.mutable_spec()->set_deadline_unix_ns(UnixNsAgo(absl::Minutes(5)));
  out = Run({"job", "show", "17"}).out;
  EXPECT_NE(out.find("  priority   5; never evicted\n"), std::string::npos) << out;
  EXPECT_NE(out.find("  deadline   missed by 5m0s so far\n"), std::string::npos) << out;

  job.set_state(v1::JOB_STATE_SUCCEEDED);
  job.set_ended_unix_ns(UnixNsAgo(absl::Minutes(6)));
  out = Run({"job", "show", "17"}).out;
  EXPECT_NE(out.find("  deadline   met\n"), std::string::npos) << out;
}

TEST_F(JobShowTest, ShowsHowFarAnArrayIsAndWhatItDependsOn) {
  v1::Job& job = AddArray(4);
  job.mutable_spec()->add_dependencies()->set_job_id(2);
  job.mutable_spec()->mutable_dependencies(0)->set_condition(v1::DEPENDENCY_CONDITION_OK);
  const std::string out = Run({"job", "show", "4"}).out;
  EXPECT_THAT(out, testing::HasSubstr("  array       0,5-6%2\n"));
  EXPECT_THAT(out,
              testing::HasSubstr("  tasks       1/3 done, 1 failed, 1 running, 0 waiting for a "
                                 "device, 1 after\n"));
  EXPECT_THAT(out, testing::HasSubstr("  depends on  job 2 (ok)\n"));
  EXPECT_THAT(out, testing::Not(testing::HasSubstr("attempts")));
}

TEST_F(JobShowTest, TaskSaysOfWhichArrayItIs) {
  AddArray(4);
  v1::Job& task = AddJob(6, "sweep", v1::JOB_STATE_PENDING);
  task.set_array_id(4);
  task.set_array_index(5);
  const std::string out = Run({"job", "show", "4_5"}).out;
  EXPECT_THAT(out, testing::HasSubstr("job 4_5: sweep\n"));
  EXPECT_THAT(out, testing::HasSubstr("  array      task 5 of job 4, as job 6\n"));
}

}  // namespace
}  // namespace pipefill
