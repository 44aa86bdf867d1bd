// Which job goes first, and where: a policy gives jobs a score and devices another. The waiting job
// with the highest score that fits anywhere goes to the device with the highest score where it
// fits. Priorities, quotas and evictions are not the policy's: see planner.h.
//
// Thread-compatible: policies keep no state between calls but for their first error.
#ifndef PLANNER_POLICY_H_
#define PLANNER_POLICY_H_

#include <string>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "planner/snapshot.h"

namespace pipefill {

// Compared entry by entry, the first one first; larger is better. All scores of one kind of one
// policy have the same length, so that policies can be put one behind the other. Entries are
// finite.
using Score = absl::InlinedVector<double, 4>;

class Policy {
 public:
  virtual ~Policy() = default;

  // As in the configuration: "fifo".
  virtual std::string name() const = 0;

  // The higher one goes first; equal ones in the order of their ids. `tenant` is the job's, as the
  // plan has left it so far; the order of two jobs of one tenant must not depend on it. Called
  // once when a job begins to wait and again when something about it changes, so the time is none
  // of its inputs.
  virtual Score ScoreJob(const PendingJob& job, const TenantSnapshot& tenant) const = 0;

  // `device` is as the plan has left it so far, and placing a job there must not raise it. Equal
  // ones: fewest tasks, then most free memory, then device order.
  virtual Score ScoreDevice(const DeviceSnapshot& /*device*/) const { return {}; }

  // What went wrong in a call so far; its scores then count for nothing. A policy that has failed
  // once stays so.
  virtual absl::Status error() const { return absl::OkStatus(); }
};

}  // namespace pipefill

#endif  // PLANNER_POLICY_H_
