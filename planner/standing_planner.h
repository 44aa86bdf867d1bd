// Makes the same plans as MakePlan (planner.h), from what it keeps between them: a tick costs about
// as much as there is to do, not as much as there is.
//
//   changes --> waiting jobs, per tenant, sorted by priority and score   --+
//          \--> devices, sorted by score, with the free memory of each   --+--> plan
//
// Jobs are looked at in the order of their scores, but those that need more than any device has
// free, and can have nothing evicted, are passed over by the chunk. A device is found as the first
// in order that has the memory.
//
// What a plan decides is not kept: the caller says what became of it.
//
// Thread-compatible.
#ifndef PLANNER_STANDING_PLANNER_H_
#define PLANNER_STANDING_PLANNER_H_

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "planner/known_devices.h"
#include "planner/plan.h"
#include "planner/planner.h"
#include "planner/policy.h"
#include "planner/snapshot.h"
#include "planner/waiting_jobs.h"

namespace pipefill {

class StandingPlanner {
 public:
  // `policy` outlives the planner, or the next SetPolicy.
  explicit StandingPlanner(const Policy& policy, const PlanLimits& limits = PlanLimits())
      : policy_(&policy), limits_(limits) {}

  // Scores everything again.
  void SetPolicy(const Policy& policy);

  // The job waits, as described; replaces what was known of it.
  void SetJob(PendingJob job) { jobs_.Set(std::move(job), *policy_); }
  // The job waits no more. No effect if it did not.
  void RemoveJob(JobId job) { jobs_.Remove(job); }
  // The device is connected, as described; held_seats and held_bytes are ignored.
  void SetDevice(DeviceSnapshot device) { devices_.Set(std::move(device), *policy_); }
  // No effect if it is not known.
  void RemoveDevice(const DeviceKey& key) { devices_.Remove(key); }
  // All tenants that have a limit or have used something.
  void SetTenants(TenantMap tenants) { tenants_ = std::move(tenants); }

  Plan MakePlan(Instant now);

  struct Place {
    size_t place = 0;  // from 1
    size_t waiting = 0;
  };
  // Where the job stands in the order in which jobs are looked at; nullopt if it does not wait, or
  // waits after a failed attempt.
  std::optional<Place> PlaceOf(JobId job, const TenantMap& tenants) const;

  const PendingJob* FindJob(JobId job) const { return jobs_.Find(job); }
  const KnownDevices& devices() const { return devices_; }
  size_t waiting() const { return jobs_.size(); }

 private:
  const Policy* policy_;
  const PlanLimits limits_;
  WaitingJobs jobs_;
  KnownDevices devices_;
  TenantMap tenants_;
};

}  // namespace pipefill

#endif  // PLANNER_STANDING_PLANNER_H_
