// A plan as JSON; cli/README.md lists the names.
//
// Pure.
#ifndef CLI_PLAN_PLAN_JSON_H_
#define CLI_PLAN_PLAN_JSON_H_

#include <cstdint>
#include <string>

#include "cli/plan/fill_forecast.h"
#include "cli/plan/idle_plan.h"

namespace pipefill {

struct FillAnswer {
  const FillQuestion* question = nullptr;
  const FillForecast* forecast = nullptr;
  uint32_t budget_ppm = 0;
};

// `fill` may be null: no job was asked about.
std::string PlanJson(const IdlePlan& plan, const FillAnswer* fill);

}  // namespace pipefill

#endif  // CLI_PLAN_PLAN_JSON_H_
