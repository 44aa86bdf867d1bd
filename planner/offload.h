// Whether a main job can keep what only its optimizer needs off its device between two steps, and
// never wait for it.
//
//   step ends                                             next step begins
//      |--- out ---|---------------- away ----------------|--- in ---|
//
// The copies run beside the main job's computing, on a stream of their own. So they are hidden as
// long as both fit between two steps; bubbles within `away` have the memory.
//
// Pure.
#ifndef PLANNER_OFFLOAD_H_
#define PLANNER_OFFLOAD_H_

#include <cstdint>

#include "planner/calendar.h"

namespace pipefill {

// All > 0 but the step's length, which may be 0.
struct OffloadAsk {
  int64_t bytes = 0;
  int64_t out_bytes_per_second = 0;
  int64_t in_bytes_per_second = 0;
  int64_t step_ns = 0;  // of the optimizer
};

struct OffloadPlan {
  bool is_hidden = false;
  int64_t out_ns = 0;
  int64_t in_ns = 0;
  int64_t between_ns = 0;  // from step to step, at the least
  int64_t away_ns = 0;     // 0 if it is not hidden
  // Bubble time of an iteration that has the memory for certain, wherever the bubbles lie.
  int64_t bubble_ns = 0;
  int64_t bytes_max = 0;  // so much would be hidden
};

// The time between two steps is taken as if all bubbles were at their tenth percentile.
// REQUIRES: calendar.iteration_ns > 0, and of `ask` what is said there.
OffloadPlan PlanOffload(const Calendar& calendar, const OffloadAsk& ask);

}  // namespace pipefill

#endif  // PLANNER_OFFLOAD_H_
