#include "planner/policies/sjf.h"

namespace pipefill {
namespace {

constexpr double kUnknownSeconds = 1e18;

}  // namespace

Score SjfPolicy::ScoreJob(const PendingJob& job, const TenantSnapshot& /*tenant*/) const {
  return {-job.seconds_left.value_or(kUnknownSeconds)};
}

}  // namespace pipefill
