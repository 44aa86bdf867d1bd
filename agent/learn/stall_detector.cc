#include "agent/learn/stall_detector.h"

#include <algorithm>
#include <utility>

namespace pipefill {
namespace {

constexpr int kIterations = 10;
constexpr double kIdleShare = 0.02;

}  // namespace

void StallDetector::OnEdge(Instant now) {
  last_edge_ = now;
  is_standing_ = false;
}

void StallDetector::Observe(const StallObservation& observation) {
  const bool was_idle = WasIdle(observation);
  if (options_.after == absl::ZeroDuration()) return;
  if (is_standing_) {
    // As if it were an edge: it has to be silent for as long again.
    if (is_cpu_evidence_ && !was_idle) OnEdge(observation.now);
    return;
  }
  if (!last_edge_.has_value() || observation.typical_iteration == absl::ZeroDuration()) return;
  const absl::Duration long_enough =
      std::max(options_.after, kIterations * observation.typical_iteration);
  if (observation.now - *last_edge_ < long_enough) return;
  is_standing_ = was_idle || observation.is_bubble_open;
  is_cpu_evidence_ = was_idle;
}

bool StallDetector::WasIdle(const StallObservation& observation) {
  const std::optional<StallObservation> before = std::exchange(before_, observation);
  // A process that is gone uses nothing; its connection will tell.
  if (!observation.cpu.has_value()) return true;
  if (!before.has_value() || !before->cpu.has_value()) return false;
  const absl::Duration used = *observation.cpu - *before->cpu;
  return used < kIdleShare * (observation.now - before->now);
}

}  // namespace pipefill
