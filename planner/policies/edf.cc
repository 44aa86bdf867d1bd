#include "planner/policies/edf.h"

namespace pipefill {
namespace {

constexpr double kNeverNs = 1e19;

}  // namespace

Score EdfPolicy::ScoreJob(const PendingJob& job, const TenantSnapshot& /*tenant*/) const {
  return {job.deadline.has_value() ? -static_cast<double>(job.deadline->ns()) : -kNeverNs};
}

}  // namespace pipefill
