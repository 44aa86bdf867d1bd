#include "scheduler/core/job_machine.h"

#include <array>
#include <cstddef>
#include <optional>

#include "common/check.h"

namespace pipefill::scheduler {
namespace {

// Where each edge leads; in the order of JobEdge.
struct EdgeRow {
  JobEdge edge;
  std::optional<JobPhase> to;  // nullopt = where it was
};
constexpr std::array<EdgeRow, kAllJobEdges.size()> kEdges = {{
    {JobEdge::kNone, std::nullopt},
    {JobEdge::kStay, std::nullopt},
    {JobEdge::kPlace, JobPhase::kStarting},
    {JobEdge::kStart, JobPhase::kRunning},
    {JobEdge::kStop, JobPhase::kStopping},
    {JobEdge::kSucceed, JobPhase::kSucceeded},
    {JobEdge::kFail, JobPhase::kFailed},
    {JobEdge::kExpire, JobPhase::kFailed},
    {JobEdge::kCancel, JobPhase::kCancelled},
    {JobEdge::kRetry, JobPhase::kPending},
    {JobEdge::kRequeue, JobPhase::kPending},
}};

// Rows and columns are found by the values of the enums, which must therefore count from 0 as their
// lists do.
template <typename List, typename Of>
constexpr bool IsInOrder(const List& list, Of of) {
  for (size_t i = 0; i < list.size(); ++i) {
    if (static_cast<size_t>(of(list[i])) != i) return false;
  }
  return true;
}
static_assert(IsInOrder(kAllJobPhases, [](JobPhase phase) { return phase; }));
static_assert(IsInOrder(kAllJobInputs, [](JobInput input) { return input; }));
static_assert(IsInOrder(kEdges, [](const EdgeRow& row) { return row.edge; }));

}  // namespace

JobEdge EdgeOf(JobPhase phase, JobInput input) {
  return kJobTable[static_cast<size_t>(input)][static_cast<size_t>(phase)];
}

JobPhase TargetOf(JobEdge edge, JobPhase from) {
  return kEdges[static_cast<size_t>(edge)].to.value_or(from);
}

std::optional<JobPhase> NextPhase(JobPhase phase, JobInput input) {
  const JobEdge edge = EdgeOf(phase, input);
  if (edge == JobEdge::kNone) return std::nullopt;
  return TargetOf(edge, phase);
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
    case EndCause::kMaxRuntime:
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
  // It would take as long again.
  if (cause == EndCause::kMaxRuntime) return JobInput::kFailedFinal;
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
