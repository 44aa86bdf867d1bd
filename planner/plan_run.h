// One run of StandingPlanner::MakePlan.
//
//   heads of the tenants' lines, the best first --> a device, or evictions --> plan
//
// Thread-compatible.
#ifndef PLANNER_PLAN_RUN_H_
#define PLANNER_PLAN_RUN_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <queue>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "planner/known_devices.h"
#include "planner/plan.h"
#include "planner/planner.h"
#include "planner/policy.h"
#include "planner/snapshot.h"
#include "planner/waiting_jobs.h"

namespace pipefill {

// All outlive the run.
struct PlanInputs {
  const Policy& policy;
  const PlanLimits& limits;
  const WaitingJobs& jobs;  // as of `now`: back-offs and reservations that are over have been ended
  const TenantMap& tenants;
  Instant now;
};

class PlanRun {
 public:
  // `devices` are changed while it runs, and restored at the end of Make.
  PlanRun(const PlanInputs& inputs, KnownDevices* devices);

  // Call once.
  Plan Make();

 private:
  // A tenant with jobs in line.
  struct Tenant {
    TenantSnapshot* limits = nullptr;  // in plan_
    const WaitingJobs::Line* line = nullptr;
    WaitingJobs::Line::Position place = {};  // where the line goes on
    // Behind the last job that was looked at: those from here to `place` were passed over.
    WaitingJobs::Line::Position passed_from = {};
    // Where the line was when the tenant had become full.
    std::optional<WaitingJobs::Line::Position> full_from = {};
  };
  // The first job of a tenant that is to be looked at next.
  struct Head {
    Score score;
    const PendingJob* job = nullptr;
    Tenant* tenant = nullptr;
  };
  struct HeadAfter {
    bool operator()(const Head& a, const Head& b) const;
  };

  bool IsFull() const;
  void WakeAt(Instant at);
  // Keeps the places that are reserved.
  void HoldAll();
  void EnterTenants();
  void LookAtAll();
  void PushHead(Tenant* tenant);
  // The first entry of the line, where it goes on, that a look could do something for.
  const WaitingJobs::Entry* NextEntry(Tenant* tenant);
  // Whether the job is one that this pass looks at.
  bool IsDue(const Head& head) const;
  void Look(const Head& head);
  // nullptr if there is none.
  KnownDevices::Known* BestFor(const PendingJob& job);
  // Why the job goes nowhere, if it is for its units.
  void NoteMisfits(const PendingJob& job);
  void PlaceOn(const Head& head, KnownDevices::Known* known);
  // Something is free again: jobs behind the head that were passed over may have it.
  void LookAgainBehind(const Head& head);
  void MakeRoom(const Head& head);
  void FindNextEviction();

  const PlanInputs inputs_;
  KnownDevices& devices_;
  Plan plan_;
  std::vector<Tenant> tenants_;
  bool is_borrowing_ = false;
  std::priority_queue<Head, std::vector<Head>, HeadAfter> heads_;
  // Those with a reservation that were looked at.
  absl::flat_hash_set<JobId> seen_reserved_;
  int beneficiaries_ = 0;
  bool is_eviction_over_ = false;
  // Nothing can be evicted for jobs that need as much; they come in the order of their priorities.
  int64_t failed_bytes_ = WaitingJobs::kAlways;
  absl::flat_hash_set<JobNeed> failed_needs_;
  // Such needs fit no device now: its bubbles do not change in a run, and no device takes more than
  // before.
  absl::flat_hash_set<JobNeed> nowhere_;
};

}  // namespace pipefill

#endif  // PLANNER_PLAN_RUN_H_
