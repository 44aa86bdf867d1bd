// What was idle in a training run that agentd recorded: the bubbles of `pipefill report`'s trace.
//
// Iterations are timed from begin to begin. The first 20 are left out, as the report does, and so
// are those that are not whole. Of a run that was filled the hold-outs alone count, if there are
// nine or more.
//
// Pure.
#ifndef CLI_PLAN_RECORDED_PLAN_H_
#define CLI_PLAN_RECORDED_PLAN_H_

#include <string>

#include "absl/status/statusor.h"
#include "cli/plan/idle_plan.h"
#include "cli/report/trace.h"

namespace pipefill {

inline constexpr size_t kIterationsLeftOut = 20;
inline constexpr size_t kHoldOutsMin = 9;

// Of the main job that was recorded last. InvalidArgument, naming `source`, if no iteration counts.
absl::StatusOr<IdlePlan> PlanOfRecord(const Trace& trace, const std::string& source);

}  // namespace pipefill

#endif  // CLI_PLAN_RECORDED_PLAN_H_
