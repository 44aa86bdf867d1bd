// Earliest deadline first. On one device all deadlines are met if any order meets them. Jobs
// without one come last.
//
// Pure.
#ifndef PLANNER_POLICIES_EDF_H_
#define PLANNER_POLICIES_EDF_H_

#include <string>

#include "planner/policy.h"
#include "planner/snapshot.h"

namespace pipefill {

class EdfPolicy : public Policy {
 public:
  std::string name() const override { return "edf"; }
  Score ScoreJob(const PendingJob& job, const TenantSnapshot& tenant) const override;
};

}  // namespace pipefill

#endif  // PLANNER_POLICIES_EDF_H_
