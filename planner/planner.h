// Makes plans.
//
//   snapshot --> waiting jobs in order --> devices where they fit --> placements
//                                    \-> no device: tasks of lower priority --> evictions
//
// The order: jobs within their tenant's limit before those that borrow; then higher priority; then
// higher score of the policy; then lower id. Each job is looked at once: it goes to the fitting
// device of the highest score. A job within the limit that fits nowhere may have tasks evicted
// (eviction.h), and then a place is kept for it. A job that waits holds up nobody.
//
// Pure.
#ifndef PLANNER_PLANNER_H_
#define PLANNER_PLANNER_H_

#include "planner/plan.h"
#include "planner/policy.h"
#include "planner/snapshot.h"

namespace pipefill {

// What one plan does at most; the next one, which it asks for at once, goes on.
struct PlanLimits {
  int placements_max = 512;
  // Jobs that tasks are evicted for.
  int beneficiaries_max = 16;
};

// The rules above taken literally, in time that grows with jobs x jobs and jobs x devices: for few
// of both, and as the oracle of StandingPlanner. The same arguments give the same plan.
Plan MakePlan(const ClusterSnapshot& snapshot, const Policy& policy,
              const PlanLimits& limits = PlanLimits());

// The policy's score of a device with what decides between equal ones behind it, but for their
// order.
Score FullScore(const DeviceSnapshot& device, const Policy& policy);

}  // namespace pipefill

#endif  // PLANNER_PLANNER_H_
