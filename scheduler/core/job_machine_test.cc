#include "scheduler/core/job_machine.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <utility>

namespace pipefill::scheduler {
namespace {

using Move = std::pair<JobPhase, JobInput>;

// The table of job_machine.h. What is not here is refused.
const std::map<Move, JobPhase>& Table() {
  using P = JobPhase;
  using I = JobInput;
  static const auto* const kTable = new std::map<Move, JobPhase>{
      {{P::kPending, I::kPlaced}, P::kStarting},
      {{P::kPending, I::kCancelRequested}, P::kCancelled},
      {{P::kPending, I::kTasksSucceeded}, P::kSucceeded},
      {{P::kPending, I::kTasksFailed}, P::kFailed},

      {{P::kStarting, I::kStarted}, P::kRunning},
      {{P::kStarting, I::kCancelRequested}, P::kStopping},
      {{P::kStarting, I::kSucceeded}, P::kSucceeded},
      {{P::kStarting, I::kFailedRetry}, P::kPending},
      {{P::kStarting, I::kFailedFinal}, P::kFailed},
      {{P::kStarting, I::kStopped}, P::kPending},
      {{P::kStarting, I::kLost}, P::kPending},

      {{P::kRunning, I::kStarted}, P::kRunning},
      {{P::kRunning, I::kCancelRequested}, P::kStopping},
      {{P::kRunning, I::kSucceeded}, P::kSucceeded},
      {{P::kRunning, I::kFailedRetry}, P::kPending},
      {{P::kRunning, I::kFailedFinal}, P::kFailed},
      {{P::kRunning, I::kStopped}, P::kPending},
      {{P::kRunning, I::kLost}, P::kPending},

      {{P::kStopping, I::kStarted}, P::kStopping},
      {{P::kStopping, I::kCancelRequested}, P::kStopping},
      {{P::kStopping, I::kSucceeded}, P::kSucceeded},
      {{P::kStopping, I::kFailedRetry}, P::kCancelled},
      {{P::kStopping, I::kFailedFinal}, P::kCancelled},
      {{P::kStopping, I::kStopped}, P::kCancelled},
      {{P::kStopping, I::kLost}, P::kCancelled},

      {{P::kCancelled, I::kCancelRequested}, P::kCancelled},
  };
  return *kTable;
}

TEST(JobMachineTest, EveryPhaseTakesEveryInputAsTheTableSays) {
  for (JobPhase phase : kAllJobPhases) {
    for (JobInput input : kAllJobInputs) {
      const auto row = Table().find({phase, input});
      const std::optional<JobPhase> expected =
          row == Table().end() ? std::nullopt : std::optional(row->second);
      EXPECT_EQ(NextPhase(phase, input), expected)
          << PhaseName(phase) << " input " << static_cast<int>(input);
    }
  }
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
