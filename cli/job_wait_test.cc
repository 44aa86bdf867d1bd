#include "cli/job_wait.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "cli/testing/command_fixture.h"

namespace pipefill {
namespace {

class JobWaitTest : public CommandFixture {
 protected:
  // Job 17 turns to `state` while the command waits.
  void EndMeanwhile(v1::JobState state, v1::EndCause cause, const std::string& text) {
    v1::Job& job = AddJob(17, "embed", v1::JOB_STATE_RUNNING);
    AddAttempt(job);
    scheduler.on_wait = [this, state, cause, text] {
      v1::Job& ended = scheduler.jobs[17];
      ended.set_state(state);
      ended.set_end_text(text);
      ended.set_ended_unix_ns(UnixNsAgo(absl::ZeroDuration()));
      EndAttempt(ended, cause, text);
    };
  }
};

TEST_F(JobWaitTest, SuccessIsExitCodeZero) {
  EndMeanwhile(v1::JOB_STATE_SUCCEEDED, v1::END_CAUSE_EXITED, "exit code 0");

  const Result result = Run({"wait", "17"});

  EXPECT_EQ(result.code, kExitOk);
  EXPECT_EQ(result.out, "job 17 succeeded after 3m14s\n");
  EXPECT_EQ(result.err, "pipefill: job 17 is running\n");
}

TEST_F(JobWaitTest, FailureIsTenAndPointsAtTheLog) {
  EndMeanwhile(v1::JOB_STATE_FAILED, v1::END_CAUSE_EXITED, "exit code 1");

  const Result result = Run({"wait", "17"});

  EXPECT_EQ(result.code, kExitJobFailed);
  EXPECT_EQ(result.out, "job 17 failed after 3m14s: exit code 1\n");
  EXPECT_EQ(result.err,
            "pipefill: job 17 is running\n"
            "pipefill: its last words: 'pipefill logs 17 --stderr'\n");
}

TEST_F(JobWaitTest, SeveralJobsAreWaitedForAndTheFirstThatFailedIsTheCode) {
  AddJob(16, "first", v1::JOB_STATE_SUCCEEDED);
  EndMeanwhile(v1::JOB_STATE_FAILED, v1::END_CAUSE_EXITED, "exit code 1");
  AddJob(18, "last", v1::JOB_STATE_CANCELLED);

  const Result result = Run({"wait", "16", "17", "18"});

  EXPECT_EQ(result.code, kExitJobFailed);
  EXPECT_EQ(result.out,
            "job 16 succeeded after 2m12s\n"
            "job 17 failed after 3m14s: exit code 1\n"
            "job 18 cancelled after 2m12s\n");
}

TEST_F(JobWaitTest, TimeoutIsForAllJobsTogether) {
  AddJob(17, "embed", v1::JOB_STATE_RUNNING);
  AddJob(18, "other", v1::JOB_STATE_RUNNING);
  scheduler.on_wait = [this] {
    scheduler.jobs[17].set_state(v1::JOB_STATE_SUCCEEDED);
    scheduler.jobs[17].set_ended_unix_ns(UnixNsAgo(absl::ZeroDuration()));
  };
  const Instant start = time.Now();

  EXPECT_EQ(Run({"wait", "17", "18", "--timeout", "3s"}).code, kExitTimedOut);

  EXPECT_EQ(time.Now() - start, absl::Seconds(3));
}

TEST_F(JobWaitTest, PointsAtNoLogOfAProgramThatDidNotStart) {
  v1::Job& job = AddJob(17, "embed", v1::JOB_STATE_FAILED);
  job.set_end_text("command not found: embed");
  AddAttempt(job).set_started_unix_ns(0);
  EndAttempt(job, v1::END_CAUSE_LAUNCH_FAILED, "command not found: embed");

  const Result result = Run({"wait", "17"});

  EXPECT_EQ(result.code, kExitJobFailed);
  EXPECT_EQ(result.err, "");
}

TEST_F(JobWaitTest, CancelledIsEleven) {
  EndMeanwhile(v1::JOB_STATE_CANCELLED, v1::END_CAUSE_CANCELLED, "cancelled by its user");

  EXPECT_EQ(Run({"wait", "17"}).code, kExitJobCancelled);
}

TEST_F(JobWaitTest, LostIsThirteen) {
  EndMeanwhile(v1::JOB_STATE_FAILED, v1::END_CAUSE_LOST, "its agent was lost");

  EXPECT_EQ(Run({"wait", "17"}).code, kExitJobLost);
}

TEST_F(JobWaitTest, TimeOutIs124AndSaysWhatToDo) {
  v1::Job& job = AddJob(17, "embed", v1::JOB_STATE_PENDING);
  job.set_pending_reason(v1::PENDING_REASON_NO_AGENT);

  const Result result = Run({"wait", "17", "--timeout", "5m"});

  EXPECT_EQ(result.code, kExitTimedOut);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(
      result.err,
      "pipefill: job 17 is pending: no agent connected\n"
      "pipefill: job 17 is not over: state=pending timeout=5m0s; wait longer with --timeout, or "
      "stop it with 'pipefill cancel 17'\n");
}

TEST_F(JobWaitTest, TimeOutIsKeptToTheMillisecond) {
  AddJob(17, "embed", v1::JOB_STATE_RUNNING);
  const Instant start = time.Now();

  Run({"wait", "17", "--timeout", "2500ms"});

  EXPECT_EQ(time.Now() - start, absl::Milliseconds(2500));
}

TEST_F(JobWaitTest, TellsReasonsOncePerChange) {
  AddJob(17, "embed", v1::JOB_STATE_PENDING).set_pending_reason(v1::PENDING_REASON_NO_MAIN_JOB);
  int waits = 0;
  scheduler.on_wait = [this, &waits] {
    v1::Job& job = scheduler.jobs[17];
    ++waits;
    job.set_pending_text(absl::StrCat("no main job on 2 devices, looked ", waits, " times"));
    if (waits == 5) job.set_state(v1::JOB_STATE_RUNNING);
    if (waits == 9) job.set_state(v1::JOB_STATE_SUCCEEDED);
  };

  const Result result = Run({"wait", "17"});

  EXPECT_EQ(result.err,
            "pipefill: job 17 is pending: no main job to fill\n"
            "pipefill: job 17 is running\n");
}

TEST_F(JobWaitTest, OutlivesARestartOfSchedulerd) {
  AddJob(17, "embed", v1::JOB_STATE_RUNNING);
  int waits = 0;
  scheduler.on_wait = [this, &waits] {
    ++waits;
    scheduler.error = waits < 5 ? absl::UnavailableError("away") : absl::OkStatus();
    if (waits == 6) scheduler.jobs[17].set_state(v1::JOB_STATE_SUCCEEDED);
  };

  EXPECT_EQ(Run({"wait", "17"}).code, kExitOk);
}

TEST_F(JobWaitTest, GivesUpOnASchedulerdThatStaysAway) {
  AddJob(17, "embed", v1::JOB_STATE_RUNNING);
  scheduler.on_wait = [this] { scheduler.error = absl::UnavailableError("schedulerd is away"); };
  const Instant start = time.Now();

  const Result result = Run({"wait", "17"});

  EXPECT_EQ(result.code, kExitUnavailable);
  EXPECT_NE(result.err.find("pipefill: schedulerd is away\n"), std::string::npos);
  EXPECT_EQ(time.Now() - start, absl::Minutes(5));
}

TEST_F(JobWaitTest, FailsAtOnceIfSchedulerdWasNeverThere) {
  scheduler.error = absl::UnavailableError("schedulerd is away");
  const Instant start = time.Now();

  EXPECT_EQ(Run({"wait", "17"}).code, kExitUnavailable);
  EXPECT_EQ(time.Now(), start);
}

TEST_F(JobWaitTest, JsonIsTheJobEvenAfterATimeOut) {
  AddJob(17, "embed", v1::JOB_STATE_RUNNING);

  const Result result = Run({"job", "wait", "17", "--timeout", "1s", "-o", "json"});

  EXPECT_EQ(result.code, kExitTimedOut);
  EXPECT_EQ(nlohmann::json::parse(result.out)["state"], "running");
}

TEST_F(JobWaitTest, TimeOutMustBeADuration) {
  const Result result = Run({"wait", "17", "--timeout", "soon"});

  EXPECT_EQ(result.code, kExitUsage);
  EXPECT_EQ(
      result.err,
      "pipefill: --timeout: not a duration: \"soon\"; write for example 50ms, 1.5s or 1m30s\n");
}

}  // namespace
}  // namespace pipefill
