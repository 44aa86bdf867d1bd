// How much the plan of a job tells: what schedulerd and those who ask it agree on.
//
// Pure.
#ifndef COMMON_PLAN_STAGES_H_
#define COMMON_PLAN_STAGES_H_

namespace pipefill {

// Stages that it looks at closely, and tells, at most: each costs a forecast.
inline constexpr int kPlanStagesMax = 256;

}  // namespace pipefill

#endif  // COMMON_PLAN_STAGES_H_
