// Makes plans.
//
//   snapshot --> which jobs may go now --> which pairs fit --> policy's scores --> placements
//                                                                              \-> reasons
//
// Pure.
#ifndef PLANNER_PLANNER_H_
#define PLANNER_PLANNER_H_

#include "absl/random/bit_gen_ref.h"
#include "planner/plan.h"
#include "planner/policy.h"
#include "planner/snapshot.h"

namespace pipefill {

// Places, again and again, the fitting (job, device) pair with the highest score, until none fits.
// Equal scores: the lower job id wins, then the earlier device. The same arguments and the same
// state of `random` give the same plan.
Plan MakePlan(const ClusterSnapshot& snapshot, const Policy& policy, absl::BitGenRef random);

}  // namespace pipefill

#endif  // PLANNER_PLANNER_H_
