// Why a job waits, in full: the rule, the numbers, its place in line, and what would let it start.
//
// Pure.
#ifndef SCHEDULER_CORE_WHY_H_
#define SCHEDULER_CORE_WHY_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/ids.h"
#include "common/instant.h"
#include "planner/plan.h"
#include "planner/standing_planner.h"
#include "scheduler/core/refusal_table.h"

namespace pipefill::scheduler {

struct WaitDetail {
  std::string rule;  // one line
  int64_t need_bytes = 0;
  // Most free memory of a device with a free seat; 0 = there is none.
  int64_t have_bytes = 0;
  DeviceKey nearest;  // empty = no device has a main job to fill
  size_t place = 0;   // from 1; 0 = it stands in no line, after a failed attempt
  size_t waiting = 0;
  std::vector<std::string> help;  // one line each
};

// nullopt if the planner does not know the job as waiting. Looks at all devices.
std::optional<WaitDetail> DetailWaiting(const StandingPlanner& planner, const Plan& plan, JobId job,
                                        const QuarantineMap& quarantines, Instant now);

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_CORE_WHY_H_
