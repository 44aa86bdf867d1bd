#include "planner/policies/fifo.h"

namespace pipefill {

Score FifoPolicy::ScoreJob(const PendingJob& job, const TenantSnapshot& /*tenant*/) const {
  return {-static_cast<double>(job.id.value())};
}

}  // namespace pipefill
