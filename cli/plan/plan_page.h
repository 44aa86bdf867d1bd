// A plan as a page of its own, and as a picture: drawn with the shapes and colours of the report.
//
// Pure.
#ifndef CLI_PLAN_PLAN_PAGE_H_
#define CLI_PLAN_PLAN_PAGE_H_

#include <string>

#include "cli/plan/idle_plan.h"

namespace pipefill {

// One iteration; at most 64 devices are drawn.
std::string PlanSvg(const IdlePlan& plan);
// Needs no other file and no network. `fill_text` is what FillText says, or empty.
std::string PlanPage(const IdlePlan& plan, const std::string& fill_text);

}  // namespace pipefill

#endif  // CLI_PLAN_PLAN_PAGE_H_
