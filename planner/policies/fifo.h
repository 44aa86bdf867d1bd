// First in, first out: the job submitted first goes first, to the device with the fewest tasks,
// then to the one with the most free memory.
//
// Pure.
#ifndef PLANNER_POLICIES_FIFO_H_
#define PLANNER_POLICIES_FIFO_H_

#include <string>

#include "planner/policy.h"
#include "planner/snapshot.h"

namespace pipefill {

class FifoPolicy : public Policy {
 public:
  std::string name() const override { return "fifo"; }
  Score ScoreJob(const PendingJob& job, const TenantSnapshot& tenant) const override;
};

}  // namespace pipefill

#endif  // PLANNER_POLICIES_FIFO_H_
