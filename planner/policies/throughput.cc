#include "planner/policies/throughput.h"

#include <algorithm>

namespace pipefill {
namespace {

constexpr double kHorizonSeconds = 600;

}  // namespace

Score ThroughputPolicy::ScoreJob(const PendingJob& job, const TenantSnapshot& /*tenant*/) const {
  return {std::min(job.seconds_left.value_or(kHorizonSeconds), kHorizonSeconds)};
}

Score ThroughputPolicy::ScoreDevice(const DeviceSnapshot& device) const {
  // A task that comes shares with those that are there, if they leave nothing.
  return {std::max(device.bubble_share - device.filled_share,
                   device.bubble_share / (1 + device.resident))};
}

}  // namespace pipefill
