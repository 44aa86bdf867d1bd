#include "planner/calendar.h"

#include <algorithm>

#include "common/check.h"

namespace pipefill {
namespace {

int64_t LengthOf(const CalendarBubble& bubble, BubbleLength length) {
  switch (length) {
    case BubbleLength::kShort:
      return bubble.p10_ns;
    case BubbleLength::kMedian:
      return bubble.p50_ns;
    case BubbleLength::kLong:
      break;
  }
  return bubble.p90_ns;
}

// The longest unit that may start in the bubble; 0 if none may.
int64_t LongestUnitNs(const CalendarBubble& bubble) {
  int64_t longest_ns = 0;
  for (const StartLimit& limit : bubble.start_limits) {
    if (limit.latest_start_ns >= 0) longest_ns = std::max(longest_ns, limit.unit_ns);
  }
  return longest_ns;
}

Window WindowOf(const CalendarBubble& bubble, int64_t length_ns, int64_t unit_ns) {
  Window window{.length_ns = length_ns, .memory_free_bytes = bubble.memory_free_bytes};
  if (!bubble.start_limits.empty()) {
    window.unit_max_ns = LongestUnitNs(bubble);
    const int64_t shown_ns = std::min(unit_ns, window.unit_max_ns);
    const int64_t latest_ns = LatestStart(bubble, shown_ns);
    window.length_ns = latest_ns < 0 ? 0 : std::min(length_ns, latest_ns) + shown_ns;
  }
  window.length_ns = length_ns > bubble.earliest_start_ns
                         ? std::max<int64_t>(0, window.length_ns - bubble.earliest_start_ns)
                         : 0;
  return window;
}

}  // namespace

int64_t Cycle::window_total_ns() const {
  int64_t total_ns = 0;
  for (const Window& window : windows) total_ns += window.length_ns;
  return total_ns;
}

int64_t LatestStart(const CalendarBubble& bubble, int64_t unit_ns) {
  CHECK(!bubble.start_limits.empty());
  const StartLimit* lower = nullptr;
  for (const StartLimit& upper : bubble.start_limits) {
    if (unit_ns <= upper.unit_ns) {
      const bool is_alone = lower == nullptr || unit_ns == upper.unit_ns;
      if (is_alone || upper.latest_start_ns < 0)
        return std::max<int64_t>(upper.latest_start_ns, -1);
      if (lower->latest_start_ns < 0) return -1;
      const double share = static_cast<double>(unit_ns - lower->unit_ns) /
                           static_cast<double>(upper.unit_ns - lower->unit_ns);
      const auto rise = static_cast<double>(upper.latest_start_ns - lower->latest_start_ns);
      return lower->latest_start_ns + static_cast<int64_t>(rise * share);
    }
    lower = &upper;
  }
  return -1;
}

Cycle CycleOf(const Calendar& calendar, BubbleLength length, int64_t unit_ns) {
  Cycle cycle{
      .windows = {}, .iteration_ns = calendar.iteration_ns, .filled_share = calendar.filled_share};
  cycle.windows.reserve(calendar.bubbles.size());
  for (const CalendarBubble& bubble : calendar.bubbles) {
    const int64_t length_ns = LengthOf(bubble, length);
    Window window = WindowOf(bubble, length_ns, unit_ns);
    window.length_ns = std::max<int64_t>(0, window.length_ns - calendar.hand_over_ns);
    cycle.windows.push_back(window);
  }
  return cycle;
}

int64_t TypicalUnitNs(const Configuration& configuration) {
  double squares = 0;
  double sum = 0;
  for (const ProfileNode& node : configuration.chain) {
    const auto time_ns = static_cast<double>(node.high_ns());
    squares += time_ns * time_ns * static_cast<double>(node.repeats);
    sum += time_ns * static_cast<double>(node.repeats);
  }
  return sum > 0 ? std::max<int64_t>(1, static_cast<int64_t>(squares / sum)) : 1;
}

}  // namespace pipefill
