// The states of a fill job, and what moves it from one to the next: one table, which is both the
// drawing and the code. The only place that says which moves exist.
//
// An array is kPending until all its tasks have ended: it has no attempts itself.
//
// kStarting, kRunning and kStopping have one live attempt, the other phases have none. Terminal is
// terminal: kSucceeded, kFailed and kCancelled are never left. That a job is held is no phase: it
// is so while it waits, and also while it runs.
//
// Pure.
#ifndef SCHEDULER_CORE_JOB_MACHINE_H_
#define SCHEDULER_CORE_JOB_MACHINE_H_

#include <array>
#include <cstddef>
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
  kHeld,
  kReleased,
  kRequeueRequested,
  kStartExpired,    // it was to have started by now
  kSucceeded,       // the attempt exited with 0
  kFailedRetry,     // the attempt failed by itself; retries are left
  kFailedFinal,     // the attempt failed by itself; none are left, or none would help
  kStopped,         // the agent stopped the attempt; the user may have asked for it
  kLost,            // with its agent, or its node refused it, or it made way: no failure of its own
  kTasksSucceeded,  // of an array: all of them
  kTasksFailed,     // of an array: one or more of them
};
inline constexpr std::array kAllJobInputs = {
    JobInput::kPlaced,         JobInput::kStarted,    JobInput::kCancelRequested,
    JobInput::kHeld,           JobInput::kReleased,   JobInput::kRequeueRequested,
    JobInput::kStartExpired,   JobInput::kSucceeded,  JobInput::kFailedRetry,
    JobInput::kFailedFinal,    JobInput::kStopped,    JobInput::kLost,
    JobInput::kTasksSucceeded, JobInput::kTasksFailed};

// What an input does to a job in a phase: the named moves.
enum class JobEdge {
  kNone,  // refused
  kStay,  // accepted; the phase stays as it is
  kPlace,
  kStart,
  kStop,
  kSucceed,
  kFail,
  kExpire,
  kCancel,
  kRetry,    // waits again after a failure
  kRequeue,  // waits again after an attempt that was not its fault
};
inline constexpr std::array kAllJobEdges = {JobEdge::kNone,  JobEdge::kStay,   JobEdge::kPlace,
                                            JobEdge::kStart, JobEdge::kStop,   JobEdge::kSucceed,
                                            JobEdge::kFail,  JobEdge::kExpire, JobEdge::kCancel,
                                            JobEdge::kRetry, JobEdge::kRequeue};

// One row for each input, one column for each phase. clang-format would take the columns away.
// An attempt has no table of its own: its states are those of its job's live phases, in a row.
// clang-format off
inline constexpr auto kJobTable = [] {
  using enum JobEdge;
  using Row = std::array<JobEdge, kAllJobPhases.size()>;
  return std::array<Row, kAllJobInputs.size()>{{
      //                     kPending  kStarting kRunning  kStopping kSucceeded kFailed  kCancelled
      /* kPlaced           */ {kPlace,  kNone,    kNone,    kNone,    kNone,     kNone,   kNone},
      /* kStarted          */ {kNone,   kStart,   kStay,    kStay,    kNone,     kNone,   kNone},
      /* kCancelRequested  */ {kCancel, kStop,    kStop,    kStay,    kNone,     kNone,   kStay},
      /* kHeld             */ {kStay,   kStay,    kStay,    kNone,    kNone,     kNone,   kNone},
      /* kReleased         */ {kStay,   kStay,    kStay,    kNone,    kNone,     kNone,   kNone},
      /* kRequeueRequested */ {kNone,   kStay,    kStay,    kNone,    kNone,     kNone,   kNone},
      /* kStartExpired     */ {kExpire, kNone,    kNone,    kNone,    kNone,     kNone,   kNone},
      /* kSucceeded        */ {kNone,   kSucceed, kSucceed, kSucceed, kNone,     kNone,   kNone},
      /* kFailedRetry      */ {kNone,   kRetry,   kRetry,   kCancel,  kNone,     kNone,   kNone},
      /* kFailedFinal      */ {kNone,   kFail,    kFail,    kCancel,  kNone,     kNone,   kNone},
      /* kStopped          */ {kNone,   kRequeue, kRequeue, kCancel,  kNone,     kNone,   kNone},
      /* kLost             */ {kNone,   kRequeue, kRequeue, kCancel,  kNone,     kNone,   kNone},
      /* kTasksSucceeded   */ {kSucceed, kNone,   kNone,    kNone,    kNone,     kNone,   kNone},
      /* kTasksFailed      */ {kFail,   kNone,    kNone,    kNone,    kNone,     kNone,   kNone},
  }};
}();
// clang-format on

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
  kMaxRuntime,
};

constexpr bool IsTerminal(JobPhase phase) {
  return phase == JobPhase::kSucceeded || phase == JobPhase::kFailed ||
         phase == JobPhase::kCancelled;
}
constexpr bool HasLiveAttempt(JobPhase phase) {
  return phase == JobPhase::kStarting || phase == JobPhase::kRunning ||
         phase == JobPhase::kStopping;
}

// kNone if the phase refuses the input.
JobEdge EdgeOf(JobPhase phase, JobInput input);
// Where the edge leads; kStay and kNone lead back to `from`.
JobPhase TargetOf(JobEdge edge, JobPhase from);
// nullopt if the phase refuses the input.
std::optional<JobPhase> NextPhase(JobPhase phase, JobInput input);

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
