// Shortest job first: the job that needs the least further device time. On one device no other
// order gives a lower mean completion time. Jobs of which that is not known come last.
//
// Pure.
#ifndef PLANNER_POLICIES_SJF_H_
#define PLANNER_POLICIES_SJF_H_

#include <string>

#include "planner/policy.h"
#include "planner/snapshot.h"

namespace pipefill {

class SjfPolicy : public Policy {
 public:
  std::string name() const override { return "sjf"; }
  Score ScoreJob(const PendingJob& job, const TenantSnapshot& tenant) const override;
};

}  // namespace pipefill

#endif  // PLANNER_POLICIES_SJF_H_
