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
// The one difference: where a job with a reservation goes elsewhere, others may have what was kept
// for it from the next plan on, for which the planner asks at once.
//
// What a plan decides is not kept: the caller says what became of it.
//
// Thread-compatible.
#ifndef PLANNER_STANDING_PLANNER_H_
#define PLANNER_STANDING_PLANNER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "planner/plan.h"
#include "planner/planner.h"
#include "planner/policy.h"
#include "planner/snapshot.h"
#include "planner/sorted_chunks.h"

namespace pipefill {

class StandingPlanner {
 public:
  // `policy` outlives the planner, or the next SetPolicy.
  explicit StandingPlanner(const Policy& policy, const PlanLimits& limits = PlanLimits())
      : policy_(&policy), limits_(limits) {}

  // Scores everything again.
  void SetPolicy(const Policy& policy);

  // The job waits, as described; replaces what was known of it.
  void SetJob(PendingJob job);
  // The job waits no more. No effect if it did not.
  void RemoveJob(JobId job);
  // The device is connected, as described; held_seats and held_bytes are ignored.
  void SetDevice(DeviceSnapshot device);
  // No effect if it is not known.
  void RemoveDevice(const DeviceKey& key);
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

  const PendingJob* FindJob(JobId job) const;
  // In device order.
  std::vector<DeviceSnapshot> Devices() const;
  size_t waiting() const { return jobs_.size(); }

 private:
  struct KnownJob {
    PendingJob job;
    Score score;              // for a tenant that has used nothing
    bool is_in_line = false;  // if not, it is among backing_off_
  };
  struct JobEntry {
    int64_t value = 0;  // less what it needs; more than any bound if it must be looked at
    const KnownJob* known = nullptr;
  };
  struct JobBefore {
    bool operator()(const JobEntry& a, const JobEntry& b) const;
  };
  using Line = SortedChunks<JobEntry, JobBefore>;

  struct KnownDevice {
    DeviceSnapshot device;
    Score score;
  };
  struct DeviceEntry {
    int64_t value = -1;  // FreeBytes
    KnownDevice* known = nullptr;
  };
  struct DeviceBefore {
    bool operator()(const DeviceEntry& a, const DeviceEntry& b) const;
  };

  // The first job of a tenant that is to be looked at next.
  struct Head {
    Score score;
    const PendingJob* job = nullptr;
    const std::string* tenant = nullptr;
  };
  struct HeadAfter {
    bool operator()(const Head& a, const Head& b) const;
  };
  // One run of MakePlan.
  struct Run;

  static JobEntry EntryOf(const KnownJob& known);
  void Enter(KnownJob* known);
  // Ends the back-off of those that have waited long enough.
  void WakeJobs(Instant now);
  // Forgets reservations that have expired.
  void DropReservations(Instant now);
  // Adds the device to the order, or takes it out.
  void Link(KnownDevice* known);
  void Unlink(KnownDevice* known);
  void AddToSums(const DeviceSnapshot& device, int sign);
  void AddBudget(const DeviceSnapshot& device);
  void RemoveBudget(const DeviceSnapshot& device);
  // Changes seats, memory, holds or who is leaving, and keeps order and sums in step; the run
  // undoes it at its end.
  template <typename Change>
  void Edit(KnownDevice* known, Run* run, const Change& change);

  // --- Of a run ---
  // The first entry of the line at run's place in it that a look could do something for.
  const JobEntry* NextEntry(const std::string& tenant, const Line& line, Run* run) const;
  void PushHead(const std::string& tenant, Run* run) const;
  bool IsFull(const Run& run) const;
  void LookAtAll(Run* run);
  // Whether the job is one that this pass looks at.
  static bool IsDue(const PendingJob& job, const Run& run);
  void Look(const PendingJob& job, Run* run);
  // nullptr if there is none.
  KnownDevice* BestFor(const PendingJob& job, Run* run);
  // Why the job goes nowhere, if it is for its units.
  void NoteMisfits(const PendingJob& job, Run* run) const;
  void PlaceOn(const PendingJob& job, KnownDevice* known, Run* run);
  void MakeRoom(const PendingJob& job, Run* run);
  void HoldAll(Run* run);
  void FindNextEviction(Run* run) const;
  PlanNumbers Numbers() const;

  const Policy* policy_;
  const PlanLimits limits_;
  absl::flat_hash_map<JobId, std::unique_ptr<KnownJob>> jobs_;
  absl::btree_set<JobId> ids_;
  absl::btree_map<std::string, Line> lines_;
  // Those that wait after a failed attempt, by when that ends.
  absl::btree_set<std::pair<Instant, JobId>> backing_off_;
  absl::btree_set<JobId> reserved_;
  absl::btree_map<int32_t, size_t> priorities_;  // of all jobs
  TenantMap tenants_;

  absl::btree_map<DeviceKey, std::unique_ptr<KnownDevice>> devices_;
  SortedChunks<DeviceEntry, DeviceBefore> order_;
  // Sums over the devices.
  int devices_filled_ = 0;
  int devices_measured_ = 0;
  int devices_quarantined_ = 0;
  int resident_ = 0;
  int resident_limit_ = 0;
  // Budgets of devices with a main job to fill, the largest first.
  absl::btree_set<std::pair<int64_t, DeviceKey>> budgets_;
  // Priorities of tasks that may be evicted, now or later.
  absl::btree_map<int32_t, size_t> evictable_;
};

}  // namespace pipefill

#endif  // PLANNER_STANDING_PLANNER_H_
