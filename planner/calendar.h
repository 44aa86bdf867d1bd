// What a device offers in one iteration of its main job: its bubbles in order, how long they are,
// and what they leave free.
//
//   Calendar (as learned: quantiles, latest starts) --CycleOf--> Cycle (what a plan packs into)
//
// Where in the iteration a bubble lies does not matter to a plan, only the order does.
//
// Pure.
#ifndef PLANNER_CALENDAR_H_
#define PLANNER_CALENDAR_H_

#include <cstdint>
#include <string>
#include <vector>

#include "planner/profile.h"

namespace pipefill {

// A unit of `unit_ns` may start until `latest_start_ns` after the bubble's begin; -1 = never.
struct StartLimit {
  int64_t unit_ns = 0;
  int64_t latest_start_ns = -1;

  friend bool operator==(const StartLimit&, const StartLimit&) = default;
};

struct CalendarBubble {
  std::string name;  // for people: "middle 0"
  int64_t p10_ns = 0;
  int64_t p50_ns = 0;
  int64_t p90_ns = 0;
  int64_t memory_free_bytes = 0;
  // By growing unit length; straight lines in between, nothing beyond the last. Empty: units may
  // start as long as they end within the bubble.
  std::vector<StartLimit> start_limits = {};
  // No unit starts before: the bubble is one of two kinds, and the short one is over by then.
  int64_t earliest_start_ns = 0;

  friend bool operator==(const CalendarBubble&, const CalendarBubble&) = default;
};

struct Calendar {
  std::vector<CalendarBubble> bubbles = {};  // that may be filled, in the order of the iteration
  int64_t iteration_ns = 0;                  // > 0
  double filled_share = 1;                   // of iterations: the others are hold-outs
  int64_t hand_over_ns = 20'000;             // from the bubble's begin to the first unit's

  friend bool operator==(const Calendar&, const Calendar&) = default;
};

// Part of a bubble, as a plan sees it.
struct Window {
  int64_t length_ns = 0;            // units must end within it
  int64_t unit_max_ns = INT64_MAX;  // longer units do not start in it at all
  int64_t memory_free_bytes = INT64_MAX;

  friend bool operator==(const Window&, const Window&) = default;
};

struct Cycle {
  std::vector<Window> windows;
  int64_t iteration_ns = 0;  // > 0
  double filled_share = 1;

  int64_t window_total_ns() const;

  friend bool operator==(const Cycle&, const Cycle&) = default;
};

// How long bubbles are taken to be: all at their tenth, fiftieth or ninetieth percentile.
enum class BubbleLength { kShort, kMedian, kLong };

// The last offset at which a unit of `unit_ns` may start; -1 = never. REQUIRES: start_limits is not
// empty.
int64_t LatestStart(const CalendarBubble& bubble, int64_t unit_ns);

// The cycle for units of about `unit_ns` each. A window ends where a unit of that length would that
// starts as late as one may: at its latest start, or just before the bubble ends. Such a unit may
// overrun, as gates let it. It begins at the earliest start; a bubble that is over by then is none.
Cycle CycleOf(const Calendar& calendar, BubbleLength length, int64_t unit_ns);

// The unit length that stands for all of a chain: the mean over its time.
int64_t TypicalUnitNs(const Configuration& configuration);

}  // namespace pipefill

#endif  // PLANNER_CALENDAR_H_
