// Which job goes first, and where: a policy gives each (job, device) pair a score, and the planner
// places the pair with the highest one.
//
// Thread-compatible: policies keep no state between calls.
#ifndef PLANNER_POLICY_H_
#define PLANNER_POLICY_H_

#include <string>

#include "absl/container/inlined_vector.h"
#include "absl/random/bit_gen_ref.h"
#include "planner/snapshot.h"

namespace pipefill {

// Compared entry by entry, the first one first; larger is better. All scores of one policy have the
// same length, so that policies can be put one behind the other. Entries are finite.
using Score = absl::InlinedVector<double, 4>;

class Policy {
 public:
  virtual ~Policy() = default;

  // As in the configuration: "fifo".
  virtual std::string name() const = 0;

  // The score of a pair that fits. `device` is as the plan has left it so far, `snapshot` as it was
  // at the beginning. Placing a job on a device must not raise that device's score for other jobs.
  // `random` is the only source of chance.
  virtual Score ScorePair(const PendingJob& job, const DeviceSnapshot& device,
                          const ClusterSnapshot& snapshot, absl::BitGenRef random) const = 0;
};

}  // namespace pipefill

#endif  // PLANNER_POLICY_H_
