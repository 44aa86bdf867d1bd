#include "scheduler/core/job_machine.h"

#include "common/check.h"

namespace pipefill::scheduler {
namespace {

// Moves out of kPending.
std::optional<JobPhase> NextOfPending(JobInput input) {
  switch (input) {
    case JobInput::kPlaced:
      return JobPhase::kStarting;
    case JobInput::kCancelRequested:
      return JobPhase::kCancelled;
    case JobInput::kTasksSucceeded:
      return JobPhase::kSucceeded;
    case JobInput::kTasksFailed:
      return JobPhase::kFailed;
    case JobInput::kStarted:
    case JobInput::kSucceeded:
    case JobInput::kFailedRetry:
    case JobInput::kFailedFinal:
    case JobInput::kStopped:
    case JobInput::kLost:
      return std::nullopt;
  }
  return std::nullopt;
}

// Moves out of kStarting and kRunning.
std::optional<JobPhase> NextOfLive(JobInput input) {
  switch (input) {
    case JobInput::kPlaced:
    case JobInput::kTasksSucceeded:
    case JobInput::kTasksFailed:
      return std::nullopt;
    case JobInput::kStarted:
      return JobPhase::kRunning;
    case JobInput::kCancelRequested:
      return JobPhase::kStopping;
    case JobInput::kSucceeded:
      return JobPhase::kSucceeded;
    case JobInput::kFailedFinal:
      return JobPhase::kFailed;
    case JobInput::kFailedRetry:
    case JobInput::kStopped:
    case JobInput::kLost:
      return JobPhase::kPending;
  }
  return std::nullopt;
}

// Moves out of kStopping.
std::optional<JobPhase> NextOfStopping(JobInput input) {
  switch (input) {
    case JobInput::kPlaced:
    case JobInput::kTasksSucceeded:
    case JobInput::kTasksFailed:
      return std::nullopt;
    case JobInput::kStarted:
    case JobInput::kCancelRequested:
      return JobPhase::kStopping;
    case JobInput::kSucceeded:
      return JobPhase::kSucceeded;
    case JobInput::kFailedRetry:
    case JobInput::kFailedFinal:
    case JobInput::kStopped:
    case JobInput::kLost:
      return JobPhase::kCancelled;
  }
  return std::nullopt;
}

}  // namespace

std::optional<JobPhase> NextPhase(JobPhase phase, JobInput input) {
  switch (phase) {
    case JobPhase::kPending:
      return NextOfPending(input);
    case JobPhase::kStarting:
    case JobPhase::kRunning:
      return NextOfLive(input);
    case JobPhase::kStopping:
      return NextOfStopping(input);
    case JobPhase::kCancelled:
      if (input == JobInput::kCancelRequested) return JobPhase::kCancelled;
      return std::nullopt;
    case JobPhase::kSucceeded:
    case JobPhase::kFailed:
      return std::nullopt;
  }
  return std::nullopt;
}

bool IsTerminal(JobPhase phase) {
  return phase == JobPhase::kSucceeded || phase == JobPhase::kFailed ||
         phase == JobPhase::kCancelled;
}

bool HasLiveAttempt(JobPhase phase) {
  return phase == JobPhase::kStarting || phase == JobPhase::kRunning ||
         phase == JobPhase::kStopping;
}

absl::string_view PhaseName(JobPhase phase) {
  switch (phase) {
    case JobPhase::kPending:
      return "pending";
    case JobPhase::kStarting:
      return "starting";
    case JobPhase::kRunning:
      return "running";
    case JobPhase::kStopping:
      return "stopping";
    case JobPhase::kSucceeded:
      return "succeeded";
    case JobPhase::kFailed:
      return "failed";
    case JobPhase::kCancelled:
      return "cancelled";
  }
  return "unknown";
}

bool IsOwnFailure(EndCause cause, int32_t exit_code) {
  switch (cause) {
    case EndCause::kExited:
      return exit_code != 0;
    case EndCause::kUnknown:
    case EndCause::kSignalled:
    case EndCause::kOutOfMemory:
    case EndCause::kLaunchFailed:
      return true;
    case EndCause::kCancelled:
    case EndCause::kLost:
    case EndCause::kRefused:
      return false;
  }
  return true;
}

JobInput InputForEnd(EndCause cause, int32_t exit_code, int32_t failures, int32_t retries) {
  if (cause == EndCause::kLost || cause == EndCause::kRefused) return JobInput::kLost;
  if (cause == EndCause::kCancelled) return JobInput::kStopped;
  if (!IsOwnFailure(cause, exit_code)) return JobInput::kSucceeded;
  return failures < retries ? JobInput::kFailedRetry : JobInput::kFailedFinal;
}

absl::Duration BackOffAfter(int32_t failures, const BackOff& back_off) {
  CHECK(failures > 0);
  absl::Duration wait = back_off.first;
  for (int32_t i = 1; i < failures && wait < back_off.longest; ++i) wait *= 2;
  return wait < back_off.longest ? wait : back_off.longest;
}

}  // namespace pipefill::scheduler
