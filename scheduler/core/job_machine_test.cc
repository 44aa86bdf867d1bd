#include "scheduler/core/job_machine.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <set>

namespace pipefill::scheduler {
namespace {

// What users and the scheduler may rely on, said a second time, by phase. What is not here is
// refused.
const std::map<JobPhase, std::map<JobInput, JobEdge>>& Expected() {
  using P = JobPhase;
  using I = JobInput;
  using E = JobEdge;
  static const auto* const kExpected = new std::map<P, std::map<I, E>>{
      {P::kPending,
       {{I::kPlaced, E::kPlace},
        {I::kCancelRequested, E::kCancel},
        {I::kHeld, E::kStay},
        {I::kReleased, E::kStay},
        {I::kStartExpired, E::kExpire},
        {I::kTasksSucceeded, E::kSucceed},
        {I::kTasksFailed, E::kFail}}},
      {P::kStarting,
       {{I::kStarted, E::kStart},
        {I::kCancelRequested, E::kStop},
        {I::kHeld, E::kStay},
        {I::kReleased, E::kStay},
        {I::kRequeueRequested, E::kStay},
        {I::kSucceeded, E::kSucceed},
        {I::kFailedRetry, E::kRetry},
        {I::kFailedFinal, E::kFail},
        {I::kStopped, E::kRequeue},
        {I::kLost, E::kRequeue}}},
      {P::kRunning,
       {{I::kStarted, E::kStay},
        {I::kCancelRequested, E::kStop},
        {I::kHeld, E::kStay},
        {I::kReleased, E::kStay},
        {I::kRequeueRequested, E::kStay},
        {I::kSucceeded, E::kSucceed},
        {I::kFailedRetry, E::kRetry},
        {I::kFailedFinal, E::kFail},
        {I::kStopped, E::kRequeue},
        {I::kLost, E::kRequeue}}},
      {P::kStopping,
       {{I::kStarted, E::kStay},
        {I::kCancelRequested, E::kStay},
        {I::kSucceeded, E::kSucceed},
        {I::kFailedRetry, E::kCancel},
        {I::kFailedFinal, E::kCancel},
        {I::kStopped, E::kCancel},
        {I::kLost, E::kCancel}}},
      {P::kSucceeded, {}},
      {P::kFailed, {}},
      {P::kCancelled, {{I::kCancelRequested, E::kStay}}},
  };
  return *kExpected;
}

TEST(JobMachineTest, EveryPhaseTakesEveryInputAsExpected) {
  for (JobPhase phase : kAllJobPhases) {
    for (JobInput input : kAllJobInputs) {
      const auto& taken = Expected().at(phase);
      const auto edge = taken.find(input);
      EXPECT_EQ(EdgeOf(phase, input), edge == taken.end() ? JobEdge::kNone : edge->second)
          << PhaseName(phase) << " input " << static_cast<int>(input);
    }
  }
}

TEST(JobMachineTest, RefusedInputsAndNothingElseLeadNowhere) {
  for (JobPhase phase : kAllJobPhases) {
    for (JobInput input : kAllJobInputs) {
      const JobEdge edge = EdgeOf(phase, input);
      const std::optional<JobPhase> next = NextPhase(phase, input);
      ASSERT_EQ(next.has_value(), edge != JobEdge::kNone) << PhaseName(phase);
      if (!next.has_value()) continue;
      EXPECT_EQ(*next, TargetOf(edge, phase));
      EXPECT_EQ(*next == phase, edge == JobEdge::kStay) << PhaseName(phase);
    }
  }
}

TEST(JobMachineTest, EdgesAreNamedByWhereTheyLead) {
  using E = JobEdge;
  using P = JobPhase;
  const std::map<E, P> targets = {
      {E::kPlace, P::kStarting},    {E::kStart, P::kRunning}, {E::kStop, P::kStopping},
      {E::kSucceed, P::kSucceeded}, {E::kFail, P::kFailed},   {E::kExpire, P::kFailed},
      {E::kCancel, P::kCancelled},  {E::kRetry, P::kPending}, {E::kRequeue, P::kPending}};
  for (JobEdge edge : kAllJobEdges) {
    for (JobPhase phase : kAllJobPhases) {
      const auto target = targets.find(edge);
      EXPECT_EQ(TargetOf(edge, phase), target == targets.end() ? phase : target->second);
    }
  }
}

TEST(JobMachineTest, EveryEdgeIsInTheTable) {
  std::set<JobEdge> seen;
  for (JobPhase phase : kAllJobPhases) {
    for (JobInput input : kAllJobInputs) seen.insert(EdgeOf(phase, input));
  }
  EXPECT_EQ(seen, std::set<JobEdge>(kAllJobEdges.begin(), kAllJobEdges.end()));
}

TEST(JobMachineTest, EveryPhaseIsReachedFromPending) {
  std::set<JobPhase> reached = {JobPhase::kPending};
  for (size_t before = 0; before != reached.size();) {
    before = reached.size();
    for (JobPhase phase : std::set<JobPhase>(reached)) {
      for (JobInput input : kAllJobInputs) {
        reached.insert(NextPhase(phase, input).value_or(phase));
      }
    }
  }
  EXPECT_EQ(reached.size(), kAllJobPhases.size());
}

TEST(JobMachineTest, TerminalIsTerminal) {
  for (JobPhase phase : kAllJobPhases) {
    if (!IsTerminal(phase)) continue;
    EXPECT_FALSE(HasLiveAttempt(phase));
    for (JobInput input : kAllJobInputs) {
      EXPECT_EQ(NextPhase(phase, input).value_or(phase), phase) << PhaseName(phase);
    }
  }
}

TEST(JobMachineTest, AttemptsBeginAndEndWithTheirPhases) {
  for (JobPhase phase : kAllJobPhases) {
    for (JobInput input : kAllJobInputs) {
      const std::optional<JobPhase> next = NextPhase(phase, input);
      if (!next.has_value()) continue;
      const bool is_end = input >= JobInput::kSucceeded;
      const bool is_live_after = HasLiveAttempt(phase) ? !is_end : input == JobInput::kPlaced;
      EXPECT_EQ(HasLiveAttempt(*next), is_live_after) << PhaseName(phase);
    }
  }
}

TEST(JobMachineTest, OnlyPendingJobsArePlaced) {
  for (JobPhase phase : kAllJobPhases) {
    EXPECT_EQ(NextPhase(phase, JobInput::kPlaced).has_value(), phase == JobPhase::kPending);
  }
}

TEST(JobMachineTest, EndsOfAttemptsNeedLiveAttempt) {
  for (JobPhase phase : kAllJobPhases) {
    for (JobInput input : {JobInput::kSucceeded, JobInput::kFailedRetry, JobInput::kFailedFinal,
                           JobInput::kStopped, JobInput::kLost}) {
      EXPECT_EQ(NextPhase(phase, input).has_value(), HasLiveAttempt(phase)) << PhaseName(phase);
    }
  }
}

TEST(InputForEndTest, ExitWithZeroSucceeds) {
  EXPECT_EQ(InputForEnd(EndCause::kExited, 0, 0, 0), JobInput::kSucceeded);
}

TEST(InputForEndTest, OwnFailuresUseUpRetries) {
  for (EndCause cause : {EndCause::kExited, EndCause::kSignalled, EndCause::kOutOfMemory,
                         EndCause::kLaunchFailed, EndCause::kUnknown}) {
    const int32_t exit_code = cause == EndCause::kExited ? 3 : 0;
    EXPECT_TRUE(IsOwnFailure(cause, exit_code));
    EXPECT_EQ(InputForEnd(cause, exit_code, 1, 2), JobInput::kFailedRetry);
    EXPECT_EQ(InputForEnd(cause, exit_code, 2, 2), JobInput::kFailedFinal);
  }
}

TEST(InputForEndTest, JobThatTookTooLongFailsWhateverItsRetries) {
  EXPECT_TRUE(IsOwnFailure(EndCause::kMaxRuntime, 0));
  EXPECT_EQ(InputForEnd(EndCause::kMaxRuntime, 0, 0, 5), JobInput::kFailedFinal);
}

TEST(InputForEndTest, LossAndStopAreNoFailuresOfTheJob) {
  EXPECT_EQ(InputForEnd(EndCause::kLost, 0, 0, 0), JobInput::kLost);
  EXPECT_EQ(InputForEnd(EndCause::kCancelled, 0, 0, 0), JobInput::kStopped);
  EXPECT_FALSE(IsOwnFailure(EndCause::kLost, 0));
  EXPECT_FALSE(IsOwnFailure(EndCause::kCancelled, 0));
}

TEST(BackOffTest, DoublesUpToItsLongest) {
  const BackOff back_off{.first = absl::Seconds(1), .longest = absl::Seconds(5)};
  EXPECT_EQ(BackOffAfter(1, back_off), absl::Seconds(1));
  EXPECT_EQ(BackOffAfter(2, back_off), absl::Seconds(2));
  EXPECT_EQ(BackOffAfter(3, back_off), absl::Seconds(4));
  EXPECT_EQ(BackOffAfter(4, back_off), absl::Seconds(5));
  EXPECT_EQ(BackOffAfter(1'000'000, back_off), absl::Seconds(5));
}

}  // namespace
}  // namespace pipefill::scheduler
