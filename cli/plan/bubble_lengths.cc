#include "cli/plan/bubble_lengths.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace pipefill {

void BubbleLengths::Add(int64_t offset_ns, int64_t length_ns) {
  lengths_.push_back(length_ns);
  offset_total_ns_ += offset_ns;
}

PlanBubble BubbleLengths::Bubble() const {
  std::vector<int64_t> sorted = lengths_;
  std::sort(sorted.begin(), sorted.end());
  const auto quantile = [&sorted](double share) {
    return sorted[static_cast<size_t>(std::lround(share * static_cast<double>(sorted.size() - 1)))];
  };
  const auto count = static_cast<int64_t>(sorted.size());
  PlanBubble bubble;
  bubble.offset_ns = offset_total_ns_ / count;
  bubble.mean_ns = std::accumulate(sorted.begin(), sorted.end(), int64_t{0}) / count;
  bubble.p10_ns = quantile(0.1);
  bubble.p50_ns = quantile(0.5);
  bubble.p90_ns = quantile(0.9);
  return bubble;
}

void SumUp(IdlePlan& plan) {
  double idle_ns = 0;
  double total_ns = 0;
  for (const PlanDevice& device : plan.devices) {
    const auto iteration_ns = static_cast<double>(device.iteration_ns);
    total_ns += iteration_ns;
    idle_ns += device.bubble_share * iteration_ns;
  }
  plan.iteration_ns = static_cast<int64_t>(total_ns / static_cast<double>(plan.devices.size()));
  plan.bubble_share = total_ns > 0 ? idle_ns / total_ns : 0;
}

}  // namespace pipefill
