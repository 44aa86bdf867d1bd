// A plan as text for people: a headline, a table of bubbles, a timeline, what a fill job gains.
//
// Pure.
#ifndef CLI_PLAN_PLAN_TEXT_H_
#define CLI_PLAN_PLAN_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "cli/plan/fill_forecast.h"
#include "cli/plan/idle_plan.h"

namespace pipefill {

struct TableStyle {
  // Every bubble as a row; else those of one class of one device together.
  bool wants_all = false;
  size_t width = 80;
};

// "4 stages x 8 microbatches, 1f1b\niteration 330 ms, 27.3 % of it idle (model)\n".
std::string PlanHeadline(const IdlePlan& plan);
std::string BubbleTable(const IdlePlan& plan, const TableStyle& style);
// One line per device, a legend below. Devices beyond 32 are left out, and a line says so.
std::string TimelineText(const IdlePlan& plan, size_t width);
// What the job gains, and what the main job may lose: `budget_ppm` is its budget.
std::string FillText(const FillQuestion& question, const FillForecast& forecast,
                     const IdlePlan& plan, uint32_t budget_ppm);

}  // namespace pipefill

#endif  // CLI_PLAN_PLAN_TEXT_H_
