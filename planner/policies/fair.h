// Fair shares: the job of the tenant that has used the least device time for its weight. What was
// used counts half after a half-life, so that a tenant need not make up for all of its past.
//
// Pure.
#ifndef PLANNER_POLICIES_FAIR_H_
#define PLANNER_POLICIES_FAIR_H_

#include <string>

#include "planner/policy.h"
#include "planner/snapshot.h"

namespace pipefill {

class FairPolicy : public Policy {
 public:
  std::string name() const override { return "fair"; }
  Score ScoreJob(const PendingJob& job, const TenantSnapshot& tenant) const override;
};

}  // namespace pipefill

#endif  // PLANNER_POLICIES_FAIR_H_
