// The states of a fill job, and what moves it from one to the next. The only place that says which
// moves exist.
//
//   input \ phase     kPending     kStarting    kRunning     kStopping    terminal
//   ---------------   ----------   ----------   ----------   ----------   ----------
//   kPlaced           kStarting    -            -            -            -
//   kStarted          -            kRunning     kRunning     kStopping    -
//   kCancelRequested  kCancelled   kStopping    kStopping    kStopping    (*)
//   kSucceeded        -            kSucceeded   kSucceeded   kSucceeded   -
//   kFailedRetry      -            kPending     kPending     kCancelled   -
//   kFailedFinal      -            kFailed      kFailed      kCancelled   -
//   kStopped          -            kPending     kPending     kCancelled   -
//   kLost             -            kPending     kPending     kCancelled   -
//   kTasksSucceeded   kSucceeded   -            -            -            -
//   kTasksFailed      kFailed      -            -            -            -
//
//   An array is kPending until all its tasks have ended: it has no attempts itself.
//   - refused.  (*) kCancelled stays kCancelled; kSucceeded and kFailed refuse.
//
// kStarting, kRunning and kStopping have one live attempt, the other phases have none. Terminal is
// terminal: kSucceeded, kFailed and kCancelled are never left.
//
// Pure.
#ifndef SCHEDULER_CORE_JOB_MACHINE_H_
#define SCHEDULER_CORE_JOB_MACHINE_H_

#include <array>
#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace pipefill::scheduler {

enum class JobPhase {
  kPending,
  kStarting,  // an attempt is placed; no process is reported yet
  kRunning,   // the attempt's process is reported
  kStopping,  // cancelled by the user; the attempt has not ended yet
  kSucceeded,
  kFailed,
  kCancelled,
};
inline constexpr std::array kAllJobPhases = {
    JobPhase::kPending,   JobPhase::kStarting, JobPhase::kRunning,  JobPhase::kStopping,
    JobPhase::kSucceeded, JobPhase::kFailed,   JobPhase::kCancelled};

enum class JobInput {
  kPlaced,
  kStarted,
  kCancelRequested,  // also: its tasks were cancelled, or what it depends on ended otherwise
  kSucceeded,        // the attempt exited with 0
  kFailedRetry,      // the attempt failed by itself; retries are left
  kFailedFinal,      // the attempt failed by itself; none are left
  kStopped,          // the agent stopped the attempt; the user may have asked for it
  kLost,  // with its agent, or its node refused it, or it was evicted: no failure of its own
  kTasksSucceeded,  // of an array: all of them
  kTasksFailed,     // of an array: one or more of them
};
inline constexpr std::array kAllJobInputs = {JobInput::kPlaced,          JobInput::kStarted,
                                             JobInput::kCancelRequested, JobInput::kSucceeded,
                                             JobInput::kFailedRetry,     JobInput::kFailedFinal,
                                             JobInput::kStopped,         JobInput::kLost,
                                             JobInput::kTasksSucceeded,  JobInput::kTasksFailed};

// Why an attempt ended, as its agent reports it.
enum class EndCause {
  kUnknown,  // of a newer agent; counts as a failure
  kExited,
  kSignalled,
  kOutOfMemory,
  kLaunchFailed,
  kCancelled,
  kLost,
  kRefused,  // the node could not take it; counts against the node
};

// nullopt if the phase refuses the input.
std::optional<JobPhase> NextPhase(JobPhase phase, JobInput input);

bool IsTerminal(JobPhase phase);
bool HasLiveAttempt(JobPhase phase);
// "pending", "starting", ... for logs and errors.
absl::string_view PhaseName(JobPhase phase);

// Whether an attempt that ended so failed by itself, and hence uses up a retry.
bool IsOwnFailure(EndCause cause, int32_t exit_code);
// What the end of an attempt means for a job with `failures` own failures before this one.
JobInput InputForEnd(EndCause cause, int32_t exit_code, int32_t failures, int32_t retries);

struct BackOff {
  absl::Duration first = absl::Seconds(1);
  absl::Duration longest = absl::Seconds(60);
};
// How long a job waits after its `failures`-th own failure: doubles each time. REQUIRES: failures >
// 0.
absl::Duration BackOffAfter(int32_t failures, const BackOff& back_off);

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_CORE_JOB_MACHINE_H_
