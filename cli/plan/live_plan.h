// Where and when a job would run in a cluster that is there, as schedulerd says it, for people and
// for programs.
//
// Pure.
#ifndef CLI_PLAN_LIVE_PLAN_H_
#define CLI_PLAN_LIVE_PLAN_H_

#include <cstddef>
#include <string>

#include "absl/time/time.h"
#include "proto/plan.pb.h"

namespace pipefill {

struct LivePlanStyle {
  bool wants_all = false;  // stages that are left out cannot be had
  size_t width = 80;       // columns of the terminal
};

std::string LivePlanText(const v1::PlanJobResponse& plan, absl::Time now,
                         const LivePlanStyle& style);
std::string LivePlanJson(const v1::PlanJobResponse& plan);

}  // namespace pipefill

#endif  // CLI_PLAN_LIVE_PLAN_H_
