#include "agent/learn/overrun_guard.h"

#include <algorithm>

namespace pipefill {

bool OverrunGuard::Update(const BubbleUse& use, double overrun_ratio, int64_t median_ns) {
  if (!IsDue(use)) return false;
  const int64_t bubbles = use.bubbles - before_.bubbles;
  const auto unit_cpu_ns = static_cast<double>(use.unit_cpu_ns - before_.unit_cpu_ns);
  const auto overrun_ns = static_cast<double>(use.overrun_ns - before_.overrun_ns);
  before_ = use;
  const int64_t guard_before_ns = guard_ns_;
  const double excess_ns =
      (overrun_ns - overrun_ratio * unit_cpu_ns) / static_cast<double>(bubbles);
  const int64_t limit_ns = std::max<int64_t>(median_ns, 0) / 2;
  if (excess_ns > 0) {
    // Compared first: what a task says of its CPU time may be as large as it likes.
    const bool is_within = excess_ns < static_cast<double>(limit_ns);
    guard_ns_ += is_within ? static_cast<int64_t>(excess_ns) : limit_ns;
  } else {
    guard_ns_ -= (guard_ns_ + 3) / 4;
  }
  if (guard_ns_ < kGuardMinNs) guard_ns_ = 0;
  guard_ns_ = std::min(guard_ns_, limit_ns);
  return guard_ns_ != guard_before_ns;
}

}  // namespace pipefill
