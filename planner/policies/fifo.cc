#include "planner/policies/fifo.h"

namespace pipefill {

Score FifoPolicy::ScorePair(const PendingJob& job, const DeviceSnapshot& device,
                            const ClusterSnapshot& /*snapshot*/, absl::BitGenRef /*random*/) const {
  return {-static_cast<double>(job.id.value()), -static_cast<double>(device.resident),
          static_cast<double>(device.memory_free_bytes)};
}

}  // namespace pipefill
