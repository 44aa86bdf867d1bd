// First in, first out: the job submitted first goes first, to the device with the fewest tasks,
// then to the one with the most free memory.
//
// A job that fits nowhere does not hold up those behind it.
//
// Pure.
#ifndef PLANNER_POLICIES_FIFO_H_
#define PLANNER_POLICIES_FIFO_H_

#include <string>

#include "absl/random/bit_gen_ref.h"
#include "planner/policy.h"
#include "planner/snapshot.h"

namespace pipefill {

class FifoPolicy : public Policy {
 public:
  std::string name() const override { return "fifo"; }
  Score ScorePair(const PendingJob& job, const DeviceSnapshot& device,
                  const ClusterSnapshot& snapshot, absl::BitGenRef random) const override;
};

}  // namespace pipefill

#endif  // PLANNER_POLICIES_FIFO_H_
