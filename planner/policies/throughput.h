// Most recovered device time: the job that will fill a device for the longest, up to ten minutes,
// goes first, to the device with the most bubble time that nobody fills. Each start costs time in
// which nothing is filled, so that short jobs recover less; beyond ten minutes that does not matter
// any more, and of such jobs, and those of which it is not known, the first one goes first.
//
// Pure.
#ifndef PLANNER_POLICIES_THROUGHPUT_H_
#define PLANNER_POLICIES_THROUGHPUT_H_

#include <string>

#include "planner/policy.h"
#include "planner/snapshot.h"

namespace pipefill {

class ThroughputPolicy : public Policy {
 public:
  std::string name() const override { return "throughput"; }
  Score ScoreJob(const PendingJob& job, const TenantSnapshot& tenant) const override;
  Score ScoreDevice(const DeviceSnapshot& device) const override;
};

}  // namespace pipefill

#endif  // PLANNER_POLICIES_THROUGHPUT_H_
