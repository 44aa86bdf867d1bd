// All done as early as possible: the longest job goes first, to the device that will be free the
// soonest, then to the one with the most bubble time. On equal devices the last job then ends
// within 4/3 of the best possible. Jobs of which it is not known how long they are count as the
// longest.
//
// Pure.
#ifndef PLANNER_POLICIES_MAKESPAN_H_
#define PLANNER_POLICIES_MAKESPAN_H_

#include <string>

#include "planner/policy.h"
#include "planner/snapshot.h"

namespace pipefill {

class MakespanPolicy : public Policy {
 public:
  std::string name() const override { return "makespan"; }
  Score ScoreJob(const PendingJob& job, const TenantSnapshot& tenant) const override;
  Score ScoreDevice(const DeviceSnapshot& device) const override;
};

}  // namespace pipefill

#endif  // PLANNER_POLICIES_MAKESPAN_H_
