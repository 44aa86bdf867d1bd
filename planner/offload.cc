#include "planner/offload.h"

#include <algorithm>
#include <cmath>

#include "common/check.h"

namespace pipefill {
namespace {

constexpr double kNsPerSecond = 1e9;

int64_t CopyNs(int64_t bytes, int64_t bytes_per_second) {
  const double seconds = static_cast<double>(bytes) / static_cast<double>(bytes_per_second);
  return static_cast<int64_t>(std::ceil(seconds * kNsPerSecond));
}

}  // namespace

OffloadPlan PlanOffload(const Calendar& calendar, const OffloadAsk& ask) {
  CHECK(calendar.iteration_ns > 0);
  CHECK(ask.bytes > 0 && ask.out_bytes_per_second > 0 && ask.in_bytes_per_second > 0);
  int64_t bubbles_ns = 0;
  int64_t shorter_ns = 0;
  for (const CalendarBubble& bubble : calendar.bubbles) {
    bubbles_ns += bubble.p10_ns;
    shorter_ns += bubble.p50_ns - bubble.p10_ns;
  }
  OffloadPlan plan = {.out_ns = CopyNs(ask.bytes, ask.out_bytes_per_second),
                      .in_ns = CopyNs(ask.bytes, ask.in_bytes_per_second)};
  plan.between_ns = std::max<int64_t>(0, calendar.iteration_ns - shorter_ns - ask.step_ns);
  const double seconds_per_byte = 1 / static_cast<double>(ask.out_bytes_per_second) +
                                  1 / static_cast<double>(ask.in_bytes_per_second);
  plan.bytes_max =
      static_cast<int64_t>(static_cast<double>(plan.between_ns) / kNsPerSecond / seconds_per_byte);
  const int64_t copies_ns = plan.out_ns + plan.in_ns;
  plan.is_hidden = copies_ns <= plan.between_ns;
  if (!plan.is_hidden) return plan;
  plan.away_ns = plan.between_ns - copies_ns;
  plan.bubble_ns = std::max<int64_t>(0, std::min(bubbles_ns - copies_ns, plan.away_ns));
  return plan;
}

}  // namespace pipefill
