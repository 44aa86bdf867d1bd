#include "planner/policies/makespan.h"

namespace pipefill {
namespace {

constexpr double kUnknownSeconds = 1e18;

}  // namespace

Score MakespanPolicy::ScoreJob(const PendingJob& job, const TenantSnapshot& /*tenant*/) const {
  return {job.seconds_left.value_or(kUnknownSeconds)};
}

Score MakespanPolicy::ScoreDevice(const DeviceSnapshot& device) const {
  return {-device.load_seconds, device.bubble_share};
}

}  // namespace pipefill
