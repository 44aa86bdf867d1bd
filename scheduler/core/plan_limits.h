// Pure.
#ifndef SCHEDULER_CORE_PLAN_LIMITS_H_
#define SCHEDULER_CORE_PLAN_LIMITS_H_

namespace pipefill::scheduler {

// Stages that the plan of a job looks at closely, and tells, at most: each costs a forecast.
inline constexpr int kPlanStagesMax = 256;

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_CORE_PLAN_LIMITS_H_
