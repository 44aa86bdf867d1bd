#include "cli/job_logs.h"

#include <gtest/gtest.h>

#include <string>

#include "cli/testing/command_fixture.h"

namespace pipefill {
namespace {

class JobLogsTest : public CommandFixture {
 protected:
  // Job 17, running in attempt 1, whose log is `text` so far.
  v1::Job& AddRunningJob(const std::string& text) {
    v1::Job& job = AddJob(17, "embed", v1::JOB_STATE_RUNNING);
    AddAttempt(job);
    scheduler.LogOf(v1::CONTENT_KIND_STDOUT, 17, 1) = {text, /*is_final=*/false};
    return job;
  }

  void End(v1::Job& job, v1::JobState state) {
    job.set_state(state);
    EndAttempt(job, v1::END_CAUSE_EXITED, "exit code 0");
    for (auto& log : scheduler.logs) log.second.is_final = true;
  }
};

TEST_F(JobLogsTest, PrintsBytesAsTheyAre) {
  const std::string text("one\n\x1b[31mtwo\xff\0three", 18);
  AddRunningJob(text);

  const Result result = Run({"logs", "17"});

  EXPECT_EQ(result.code, kExitOk);
  EXPECT_EQ(result.out, text);
  EXPECT_EQ(result.err, "");
}

TEST_F(JobLogsTest, PrintsTheLatestAttemptUnlessOneIsNamed) {
  v1::Job& job = AddRunningJob("first");
  AddAttempt(job);
  scheduler.LogOf(v1::CONTENT_KIND_STDOUT, 17, 2).text = "second";

  EXPECT_EQ(Run({"logs", "17"}).out, "second");
  EXPECT_EQ(Run({"job", "logs", "17", "--attempt", "1"}).out, "first");
}

TEST_F(JobLogsTest, SaysThatALogEndsEarly) {
  v1::Job& job = AddRunningJob("all there is");
  job.mutable_attempts(0)->mutable_progress()->set_log_error("write: No space left on device");
  const std::string note =
      "pipefill: the log of attempt 1 ends early: write: No space left on device\n";

  EXPECT_EQ(Run({"logs", "17"}).err, note);
  End(job, v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(Run({"logs", "17", "-f"}).err, note);
}

TEST_F(JobLogsTest, SinceIsATimeBeforeNow) {
  AddRunningJob("text");
  Run({"logs", "17", "--since", "10m"});
  EXPECT_EQ(scheduler.log_since_unix_ns, UnixNsAgo(absl::Minutes(10)));
  Run({"logs", "17"});
  EXPECT_EQ(scheduler.log_since_unix_ns, 0);
  EXPECT_NE(Run({"logs", "17", "--since", "soon"}).err.find("--since"), std::string::npos);
}

TEST_F(JobLogsTest, StderrIsTheOtherLog) {
  AddRunningJob("out");
  scheduler.LogOf(v1::CONTENT_KIND_STDERR, 17, 1).text = "error";

  EXPECT_EQ(Run({"logs", "17", "--stderr"}).out, "error");
}

TEST_F(JobLogsTest, SaysWhyThereIsNoneYet) {
  AddJob(17, "embed", v1::JOB_STATE_PENDING).set_pending_text("no main job on 2 devices");

  const Result result = Run({"logs", "17"});

  EXPECT_EQ(result.code, kExitOk);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err, "pipefill: job 17 has not started: pending: no main job on 2 devices\n");
}

TEST_F(JobLogsTest, AttemptsThatNeverStartedHaveNone) {
  v1::Job& job = AddRunningJob("first");
  AddAttempt(job).set_started_unix_ns(0);
  EndAttempt(job, v1::END_CAUSE_LOST, "its agent was lost");
  job.set_state(v1::JOB_STATE_CANCELLED);

  EXPECT_EQ(Run({"logs", "17"}).out, "first");
  const Result followed = Run({"logs", "-f", "17"});
  EXPECT_EQ(followed.code, kExitOk);
  EXPECT_EQ(followed.out, "");
}

TEST_F(JobLogsTest, UnknownAttemptIsNotFound) {
  AddRunningJob("out");

  const Result result = Run({"logs", "17", "--attempt", "3"});

  EXPECT_EQ(result.code, kExitNotFound);
  EXPECT_EQ(result.err,
            "pipefill: no such attempt: job=17 attempt=3 attempts=1; see 'pipefill job show 17'\n");
}

TEST_F(JobLogsTest, FollowsUntilTheJobIsOver) {
  AddRunningJob("one ");
  int waits = 0;
  scheduler.on_wait = [this, &waits] {
    ++waits;
    FakeScheduler::Log& log = scheduler.LogOf(v1::CONTENT_KIND_STDOUT, 17, 1);
    if (waits == 2) log.text += "two and ";
    if (waits == 4) {
      log.text += "three";
      End(scheduler.jobs[17], v1::JOB_STATE_SUCCEEDED);
    }
  };

  const Result result = Run({"logs", "-f", "17"});

  EXPECT_EQ(result.code, kExitOk);
  EXPECT_EQ(result.out, "one two and three");
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(waits, 4);
}

TEST_F(JobLogsTest, FollowsFromAttemptToAttemptWithAMark) {
  AddRunningJob("first ");
  int waits = 0;
  scheduler.on_wait = [this, &waits] {
    v1::Job& job = scheduler.jobs[17];
    ++waits;
    if (waits == 1) {
      scheduler.LogOf(v1::CONTENT_KIND_STDOUT, 17, 1).text += "try ";
      End(job, v1::JOB_STATE_PENDING);
    }
    if (waits == 2) {
      AddAttempt(job);
      job.set_state(v1::JOB_STATE_RUNNING);
      scheduler.LogOf(v1::CONTENT_KIND_STDOUT, 17, 2) = {"second try", /*is_final=*/false};
    }
    if (waits == 3) End(job, v1::JOB_STATE_SUCCEEDED);
  };

  const Result result = Run({"logs", "-f", "17"});

  EXPECT_EQ(result.out, "first try second try");
  EXPECT_EQ(result.err, "pipefill: --- attempt 2 on node1/cpu0 ---\n");
}

TEST_F(JobLogsTest, FollowWaitsForTheStart) {
  v1::Job& job = AddJob(17, "embed", v1::JOB_STATE_PENDING);
  job.set_pending_reason(v1::PENDING_REASON_NO_AGENT);
  int waits = 0;
  scheduler.on_wait = [this, &waits] {
    v1::Job& pending = scheduler.jobs[17];
    ++waits;
    // Placed, but the agent has not made the log yet.
    if (waits == 3) {
      pending.set_state(v1::JOB_STATE_RUNNING);
      AddAttempt(pending).set_state(v1::ATTEMPT_STATE_STARTING);
    }
    if (waits == 5) {
      scheduler.LogOf(v1::CONTENT_KIND_STDOUT, 17, 1).text = "hello";
      End(pending, v1::JOB_STATE_SUCCEEDED);
    }
  };

  const Result result = Run({"logs", "-f", "17"});

  EXPECT_EQ(result.code, kExitOk);
  EXPECT_EQ(result.out, "hello");
  EXPECT_EQ(result.err, "pipefill: job 17 has not started: pending: no agent connected\n");
}

TEST_F(JobLogsTest, FollowEndsWhenAJobIsCancelledBeforeItStarts) {
  AddJob(17, "embed", v1::JOB_STATE_PENDING);
  scheduler.on_wait = [this] { scheduler.jobs[17].set_state(v1::JOB_STATE_CANCELLED); };

  EXPECT_EQ(Run({"logs", "-f", "17"}).code, kExitOk);
}

TEST_F(JobLogsTest, FollowOutlivesAnAgentThatIsAwayForAWhile) {
  AddRunningJob("one ");
  int waits = 0;
  scheduler.on_wait = [this, &waits] {
    ++waits;
    scheduler.content_error =
        waits < 4 ? absl::UnavailableError("node1 is away") : absl::OkStatus();
    if (waits != 5) return;
    scheduler.LogOf(v1::CONTENT_KIND_STDOUT, 17, 1).text += "two";
    End(scheduler.jobs[17], v1::JOB_STATE_SUCCEEDED);
  };

  EXPECT_EQ(Run({"logs", "-f", "17"}).out, "one two");
}

TEST_F(JobLogsTest, FollowGoesOnToTheNextAttemptWhenALogIsLost) {
  v1::Job& job = AddRunningJob("");
  EndAttempt(job, v1::END_CAUSE_LOST, "its agent was lost");
  job.set_state(v1::JOB_STATE_PENDING);
  scheduler.content_error = absl::UnavailableError("node1 is away");
  int waits = 0;
  scheduler.on_wait = [this, &waits] {
    v1::Job& again = scheduler.jobs[17];
    if (++waits != 2) return;
    AddAttempt(again);
    EndAttempt(again, v1::END_CAUSE_EXITED, "exit code 0");
    again.set_state(v1::JOB_STATE_SUCCEEDED);
    scheduler.LogOf(v1::CONTENT_KIND_STDOUT, 17, 2).text = "second";
    scheduler.content_error = absl::OkStatus();
    scheduler.logs.erase({v1::CONTENT_KIND_STDOUT, {17, 1}});
  };

  const Result result = Run({"logs", "-f", "17"});

  EXPECT_EQ(result.code, kExitOk);
  EXPECT_EQ(result.out, "second");
  EXPECT_EQ(result.err,
            "pipefill: the rest of attempt 1 cannot be read: no such log\n"
            "pipefill: --- attempt 2 on node1/cpu0 ---\n");
}

TEST_F(JobLogsTest, FollowFailsIfTheLastLogCannotBeRead) {
  v1::Job& job = AddRunningJob("");
  End(job, v1::JOB_STATE_SUCCEEDED);
  scheduler.content_error = absl::UnavailableError("node1 is away");

  EXPECT_EQ(Run({"logs", "-f", "17"}).code, kExitUnavailable);
}

TEST_F(JobLogsTest, FollowOfANamedAttemptEndsWithIt) {
  v1::Job& job = AddRunningJob("first");
  End(job, v1::JOB_STATE_RUNNING);
  AddAttempt(job);

  EXPECT_EQ(Run({"logs", "-f", "17", "--attempt", "1"}).out, "first");
}

TEST_F(JobLogsTest, ArrayHasNoLogItsTasksHave) {
  AddArray(4);
  const Result array = Run({"logs", "4"});
  EXPECT_EQ(array.err, "pipefill: job 4 is an array; name one of its tasks, as 4_0\n");
  v1::Job& task = AddJob(6, "sweep", v1::JOB_STATE_RUNNING);
  AddAttempt(task);
  scheduler.LogOf(v1::CONTENT_KIND_STDOUT, 6, 1).text = "hello\n";
  EXPECT_EQ(Run({"logs", "4_5"}).out, "hello\n");
}

}  // namespace
}  // namespace pipefill
