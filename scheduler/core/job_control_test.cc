// Holding, releasing, requeueing, cancelling, and starting too late: what the state makes of it,
// and what users are told.
#include "scheduler/core/job_control.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "scheduler/core/cluster_state.h"
#include "scheduler/core/explain.h"
#include "scheduler/core/job_history.h"
#include "scheduler/core/reconcile.h"
#include "scheduler/testing/builders.h"

namespace pipefill::scheduler {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A cluster with one device of two seats, and one job that is not placed yet.
class JobControlTest : public testing::Test {
 protected:
  JobControlTest() {
    Apply(HelloFrom("a", 1, {FilledDevice("a", "cpu0", /*seats=*/2)}));
    Submit(SpecThatNeeds(kMiB, /*retries=*/1));
  }

  absl::Status Admit(const Event& event, double second = 0) {
    const absl::Status status = state_.Check(event, AtSecond(second));
    if (status.ok()) state_.Apply(event, TimeAt(second));
    return status;
  }
  void Apply(const Event& event, double second = 0) {
    const absl::Status status = Admit(event, second);
    ASSERT_TRUE(status.ok()) << status;
  }
  JobId Submit(const JobSpec& spec) {
    const JobId id = state_.next_job_id();
    Apply(JobSubmitted{id, "", spec});
    return id;
  }
  AttemptKey Place(double second = 0) {
    const AttemptKey key = state_.NextAttempt(kJob);
    Apply(AttemptPlaced{key, {"a", "cpu0"}}, second);
    return key;
  }
  AttemptKey Run(double second = 0) {
    const AttemptKey key = Place(second);
    Apply(AttemptStarted{key}, second);
    return key;
  }
  const Job& Get(JobId id = kJob) { return **state_.FindJob(id); }
  std::vector<int64_t> Planned() {
    std::vector<int64_t> ids;
    for (const PendingJob& job : state_.Snapshot(TimeAt(0)).pending) ids.push_back(job.id.value());
    return ids;
  }
  static JobSpec SpecToStartBy(double second) {
    JobSpec spec = SpecThatNeeds(kMiB, /*retries=*/1);
    spec.start_before = TimeAt(second).wall;
    return spec;
  }

  static constexpr JobId kJob{1};
  ClusterState state_{ClusterLimits{}};
};

// --- Hold and release ---

TEST_F(JobControlTest, HeldJobIsNotPlannedUntilItIsReleased) {
  Apply(JobHeld{kJob, "too early"});
  EXPECT_THAT(Planned(), IsEmpty());
  EXPECT_FALSE(state_.has_pending());
  EXPECT_EQ(state_.counts().pending, 1);
  EXPECT_EQ(state_.counts().held, 1);
  EXPECT_EQ(Admit(AttemptPlaced{state_.NextAttempt(kJob), {"a", "cpu0"}}).code(),
            absl::StatusCode::kAborted);

  Apply(JobReleased{kJob, ""});
  EXPECT_THAT(Planned(), ElementsAre(1));
  EXPECT_EQ(state_.counts().held, 0);
}

TEST_F(JobControlTest, JobMayBeHeldFromItsSubmissionOn) {
  JobSpec spec = SpecThatNeeds(kMiB);
  spec.is_held = true;
  const JobId held = Submit(spec);
  EXPECT_THAT(Planned(), ElementsAre(1));
  EXPECT_EQ(ExplainWaitingJob(Get(held), Plan(), Instant()),
            "held since it was submitted; `pipefill release 2` lets it start");
  Apply(JobReleased{held, ""});
  EXPECT_THAT(Planned(), ElementsAre(1, 2));
}

TEST_F(JobControlTest, RunningJobIsHeldOnceItWaitsAgain) {
  const AttemptKey key = Run();
  Apply(JobHeld{kJob, ""});
  EXPECT_EQ(Get().phase, JobPhase::kRunning);
  EXPECT_FALSE(state_.LiveAttemptsOf("a").Find(key.fence)->is_leaving);
  EXPECT_EQ(state_.counts().held, 0);

  Apply(EndOf(key, EndCause::kLost));
  EXPECT_EQ(Get().phase, JobPhase::kPending);
  EXPECT_THAT(Planned(), IsEmpty());
  EXPECT_EQ(state_.counts().held, 1);
}

TEST_F(JobControlTest, HeldJobSaysWhoHoldsItAndWhatLetsItStart) {
  Apply(JobHeld{kJob, "too early"});
  EXPECT_EQ(ExplainWaitingJob(Get(), Plan(), Instant()),
            "held by a user: too early; `pipefill release 1` lets it start");
}

TEST_F(JobControlTest, NoPlaceIsKeptForAHeldJob) {
  const AttemptKey victim = Run();
  Apply(AgentReported{SessionId(1), {FilledDevice("a", "cpu0", 2)}, {}, {}});
  JobSpec spec = SpecThatNeeds(kMiB);
  spec.priority = 5;
  const JobId second = Submit(spec);
  Apply(EvictionRequested{victim, second}, 40);
  ASSERT_TRUE(Get(second).reserved.has_value());
  Apply(JobHeld{second, ""}, 40);
  EXPECT_FALSE(Get(second).reserved.has_value());
}

TEST_F(JobControlTest, NobodyIsEvictedForAHeldJob) {
  const AttemptKey victim = Run();
  JobSpec spec = SpecThatNeeds(kMiB);
  spec.priority = 5;
  spec.is_held = true;
  EXPECT_EQ(Admit(EvictionRequested{victim, Submit(spec)}, 40).code(), absl::StatusCode::kAborted);
}

// --- Requeue ---

TEST_F(JobControlTest, RequeueStopsTheAttemptAndUsesUpNoRetry) {
  const AttemptKey key = Run();
  Apply(RequeueRequested{kJob, "new data"});
  EXPECT_TRUE(state_.LiveAttemptsOf("a").Find(key.fence)->is_leaving);
  const std::vector<Action> actions = ActionsForStop(state_, kJob);
  ASSERT_EQ(actions.size(), 1U);
  EXPECT_EQ(std::get<StopAttempt>(actions[0]).cause, EndCause::kLost);
  EXPECT_EQ(std::get<StopAttempt>(actions[0]).text, "requeued: a user wants the job to wait again");

  Apply(EndOf(key, EndCause::kLost));
  EXPECT_EQ(Get().phase, JobPhase::kPending);
  EXPECT_EQ(Get().failures, 0);
  EXPECT_FALSE(Get().not_before.has_value());
  EXPECT_EQ(state_.LiveAttemptsOf("a").Find(key.fence), nullptr);
  EXPECT_THAT(Planned(), ElementsAre(1));
}

TEST_F(JobControlTest, RequeuedAttemptIsStoppedAgainWhenItsAgentIsBack) {
  const AttemptKey key = Run();
  Apply(RequeueRequested{kJob, ""});
  AgentRegistered hello = HelloFrom("a", 2, {FilledDevice("a", "cpu0", 2)});
  hello.live_attempts = {key};
  bool is_stopped = false;
  for (const Action& action : ReconcileHello(state_, hello).actions) {
    if (const auto* stop = std::get_if<StopAttempt>(&action)) is_stopped = stop->attempt == key;
  }
  EXPECT_TRUE(is_stopped);
}

TEST_F(JobControlTest, RequeueOfAnEndedJobSaysHowToSubmitItAgain) {
  Apply(ExitOf(Run(), 0));
  const absl::Status status = Admit(RequeueRequested{kJob, ""});
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.message(),
            "job 1 has already succeeded, and what is over stays so; `pipefill submit --again 1` "
            "submits the same as a new job");
}

// --- Starting too late ---

TEST_F(JobControlTest, JobThatHasNotStartedInTimeHasFailed) {
  const JobId late = Submit(SpecToStartBy(60));
  EXPECT_EQ(state_.waiting().NextStartLimit(), TimeAt(60).wall);
  EXPECT_THAT(state_.waiting().LateStarts(TimeAt(59.9).wall, 10), IsEmpty());
  EXPECT_THAT(state_.waiting().LateStarts(TimeAt(60).wall, 10), ElementsAre(late));

  Apply(StartExpired{late}, 61);
  EXPECT_EQ(Get(late).phase, JobPhase::kFailed);
  EXPECT_EQ(ExplainJobEnd(Get(late)),
            "had not started by 2023-11-14T22:14:20+00:00, which its start_before asks for");
  EXPECT_EQ(state_.waiting().NextStartLimit(), std::nullopt);
  EXPECT_EQ(Admit(StartExpired{late}, 62).code(), absl::StatusCode::kAborted);
}

TEST_F(JobControlTest, HeldJobMustStartInTimeToo) {
  JobSpec spec = SpecToStartBy(60);
  spec.is_held = true;
  const JobId held = Submit(spec);
  EXPECT_THAT(state_.waiting().LateStarts(TimeAt(60).wall, 10), ElementsAre(held));
}

TEST_F(JobControlTest, JobThatHasStartedOnceIsNeverLate) {
  Apply(CancelRequested{kJob});
  const JobId id = Submit(SpecToStartBy(60));
  const AttemptKey key = state_.NextAttempt(id);
  Apply(AttemptPlaced{key, {"a", "cpu0"}}, 1);
  EXPECT_THAT(state_.waiting().LateStarts(TimeAt(99).wall, 10), IsEmpty());
  Apply(AttemptStarted{key}, 2);
  Apply(EndOf(key, EndCause::kLost), 99);
  EXPECT_EQ(Get(id).phase, JobPhase::kPending);
  EXPECT_THAT(state_.waiting().LateStarts(TimeAt(99).wall, 10), IsEmpty());
  EXPECT_EQ(Admit(StartExpired{id}, 99).code(), absl::StatusCode::kAborted);
}

TEST_F(JobControlTest, LaunchThatWasRefusedIsNoStart) {
  const JobId id = Submit(SpecToStartBy(60));
  const AttemptKey key = state_.NextAttempt(id);
  Apply(AttemptPlaced{key, {"a", "cpu0"}}, 1);
  Apply(EndOf(key, EndCause::kRefused), 2);
  EXPECT_THAT(state_.waiting().LateStarts(TimeAt(60).wall, 10), ElementsAre(id));
}

// --- Outcomes ---

TEST_F(JobControlTest, OutcomeSaysWhatTheVerbDoes) {
  EXPECT_EQ(OutcomeOf(Get(), JobVerb::kHold).text, "held");
  EXPECT_EQ(OutcomeOf(Get(), JobVerb::kCancel).text, "cancelled");
  EXPECT_EQ(OutcomeOf(Get(), JobVerb::kCancel).phase, JobPhase::kCancelled);
  Run();
  EXPECT_EQ(OutcomeOf(Get(), JobVerb::kHold).text,
            "runs on, and is held once it waits again; `pipefill requeue 1` stops it now");
  EXPECT_EQ(OutcomeOf(Get(), JobVerb::kCancel).text,
            "is being cancelled: attempt 1 on a/cpu0 is being stopped");
  EXPECT_EQ(OutcomeOf(Get(), JobVerb::kRequeue).text,
            "is being requeued: attempt 1 on a/cpu0 is being stopped");
  Apply(JobHeld{kJob, ""});
  EXPECT_EQ(OutcomeOf(Get(), JobVerb::kRequeue).text,
            "is being requeued: attempt 1 on a/cpu0 is being stopped, and the job is held then");
}

TEST_F(JobControlTest, WhatIsSoAlreadyIsUnchanged) {
  const auto is_unchanged = [&](JobVerb verb) {
    return OutcomeOf(Get(), verb).code == JobOutcome::Code::kUnchanged;
  };
  EXPECT_TRUE(is_unchanged(JobVerb::kRelease));
  EXPECT_TRUE(is_unchanged(JobVerb::kRequeue));
  Apply(JobHeld{kJob, ""});
  EXPECT_TRUE(is_unchanged(JobVerb::kHold));
  Apply(JobReleased{kJob, ""});
  Run();
  Apply(RequeueRequested{kJob, ""});
  EXPECT_TRUE(is_unchanged(JobVerb::kRequeue));
  Apply(CancelRequested{kJob});
  EXPECT_TRUE(is_unchanged(JobVerb::kCancel));
}

TEST_F(JobControlTest, NothingIsToBeWantedOfAJobThatIsOver) {
  Apply(ExitOf(Run(), 0));
  for (const JobVerb verb :
       {JobVerb::kCancel, JobVerb::kHold, JobVerb::kRelease, JobVerb::kRequeue}) {
    const JobOutcome outcome = OutcomeOf(Get(), verb);
    EXPECT_EQ(outcome.code, JobOutcome::Code::kRefused);
    EXPECT_EQ(outcome.refusal.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(outcome.text, HasSubstr("job 1 has already succeeded"));
  }
}

// Of every verb in every phase: what is called done is accepted, and what is refused is not.
TEST_F(JobControlTest, OutcomesAgreeWithWhatTheStateTakes) {
  const auto check_all = [&] {
    for (const JobVerb verb :
         {JobVerb::kCancel, JobVerb::kHold, JobVerb::kRelease, JobVerb::kRequeue}) {
      const JobOutcome outcome = OutcomeOf(Get(), verb);
      const absl::Status checked = state_.Check(EventOf(verb, kJob, ""), AtSecond(0));
      if (outcome.code == JobOutcome::Code::kUnchanged) continue;
      EXPECT_EQ(outcome.code == JobOutcome::Code::kDone, checked.ok()) << checked;
      EXPECT_EQ(outcome.refusal, checked);
    }
  };
  check_all();
  const AttemptKey key = Place();
  check_all();
  Apply(AttemptStarted{key});
  check_all();
  Apply(CancelRequested{kJob});
  check_all();
  Apply(EndOf(key, EndCause::kCancelled));
  check_all();
}

// --- History ---

// "kind actor attempt text", one a line.
std::vector<std::string> Lines(const Job& job) {
  std::vector<std::string> lines;
  for (const JobStep& step : HistoryOf(job)) {
    lines.push_back(absl::StrCat(static_cast<int>(step.kind), " ",
                                 step.actor == JobStep::Actor::kUser        ? "user"
                                 : step.actor == JobStep::Actor::kScheduler ? "scheduler"
                                                                            : step.node,
                                 " ", step.attempt.value(), " ", step.text));
  }
  return lines;
}

TEST_F(JobControlTest, HistoryTellsWhoDidWhatAndWhy) {
  using Kind = JobStep::Kind;
  Apply(JobHeld{kJob, "too early"}, 1);
  Apply(JobReleased{kJob, ""}, 2);
  const AttemptKey first = Run(3);
  Apply(RequeueRequested{kJob, "new data"}, 4);
  Apply(EndOf(first, EndCause::kLost), 5);
  Apply(ReportFrom(1, {FilledDevice("a", "cpu0", /*seats=*/2)}), 6);
  const AttemptKey second = Run(6);
  Apply(ExitOf(second, 0), 7);
  const auto line = [](Kind kind, const std::string& rest) {
    return absl::StrCat(static_cast<int>(kind), " ", rest);
  };
  EXPECT_THAT(
      Lines(Get()),
      ElementsAre(line(Kind::kSubmitted, "user 0 "), line(Kind::kHeld, "user 0 too early"),
                  line(Kind::kReleased, "user 0 "), line(Kind::kPlaced, "scheduler 1 on a/cpu0"),
                  line(Kind::kStarted, "a 1 "), line(Kind::kRequeueRequested, "user 1 new data"),
                  line(Kind::kAttemptEnded, "a 1 lost with its agent"),
                  line(Kind::kRequeued, "scheduler 1 the attempt uses up no retry"),
                  line(Kind::kPlaced, "scheduler 2 on a/cpu0"), line(Kind::kStarted, "a 2 "),
                  line(Kind::kAttemptEnded, "a 2 exit code 0"),
                  line(Kind::kSucceeded, "scheduler 0 exit code 0")));
}

TEST_F(JobControlTest, AnAgentThatIsLostDoesNotTellTheEndItself) {
  const AttemptKey key = Run(1);
  Apply(EndOf(key, EndCause::kLost), 2);
  const std::vector<JobStep> steps = HistoryOf(Get());
  ASSERT_EQ(steps.size(), 5U);
  EXPECT_EQ(steps[3].kind, JobStep::Kind::kAttemptEnded);
  EXPECT_EQ(steps[3].actor, JobStep::Actor::kScheduler);
}

TEST_F(JobControlTest, HistoryOfACancelledJobEndsWithIt) {
  Apply(CancelRequested{kJob, "wrong data"}, 5);
  const std::vector<JobStep> steps = HistoryOf(Get());
  ASSERT_EQ(steps.size(), 3U);
  EXPECT_EQ(steps[1].kind, JobStep::Kind::kCancelRequested);
  EXPECT_EQ(steps[1].text, "wrong data");
  EXPECT_EQ(steps[2].kind, JobStep::Kind::kCancelled);
  EXPECT_EQ(steps[2].at, TimeAt(5).wall);
}

TEST_F(JobControlTest, OldWishesAreForgotten) {
  for (size_t i = 0; i < kWishesMax; ++i) Apply(JobHeld{kJob, absl::StrCat(i)});
  ASSERT_EQ(Get().wishes.size(), kWishesMax);
  Apply(JobHeld{kJob, "last"});
  EXPECT_EQ(Get().wishes.size(), kWishesMax);
  EXPECT_EQ(Get().wishes.front().text, "1");
  EXPECT_EQ(Get().wishes.back().text, "last");
}

}  // namespace
}  // namespace pipefill::scheduler
