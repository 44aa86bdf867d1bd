// The devices of a view, as a plan sees them, and what a job that is not there yet would do in each
// stage of each main job.
//
// Thread-compatible.
#ifndef SCHEDULER_CORE_PLAN_CANDIDATES_H_
#define SCHEDULER_CORE_PLAN_CANDIDATES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/time/time.h"
#include "planner/plan.h"
#include "planner/policy.h"
#include "planner/snapshot.h"
#include "scheduler/core/job.h"
#include "scheduler/core/job_forecast.h"
#include "scheduler/core/node_table.h"
#include "scheduler/core/view.h"

namespace pipefill::scheduler {

// A task that is on a device, or on its way to it, or that the same plan puts there first.
struct PlanNeighbour {
  JobId job;
  std::string name;
  int32_t priority = 0;
  std::optional<double> seconds_left;  // as it is expected to go on
  bool is_leaving = false;
};

// The devices of one stage of a main job.
struct PlanCandidate {
  std::string main_job;
  int32_t stage = 0;
  size_t devices = 0;
  size_t devices_free = 0;  // that could take the job now
  // The one that the rest is of: where the job would go, or would go first in this stage.
  DeviceKey device;
  JobForecast forecast;
  std::vector<PlanNeighbour> neighbours;
  std::string text;  // why none of them can take the job now; empty = one can
};

// Attempts that have not ended, by node.
using LiveByNode = absl::btree_map<std::string, LiveAttempts>;

class PlanCandidates {
 public:
  // Those of nodes that were heard of within `heard_within`. `view` outlives it.
  PlanCandidates(const ClusterView& view, const LiveByNode& live, absl::Duration heard_within,
                 Instant now);

  // In device order.
  const std::vector<DeviceSnapshot>& devices() const { return devices_; }

  // From now on devices are as `plan` finds them when it comes to `job`: what others have reserved
  // is kept, and those that are placed before are there. Whom it evicts for the job is no
  // neighbour. `waiting` are the jobs of the plan, in the order of their ids, and `job` is among
  // them.
  void Follow(const std::vector<PendingJob>& waiting, const Plan& plan, JobId job);

  // What is asked of the candidates.
  struct Question {
    const Job& job;
    const PendingJob& pending;  // the same
    const Policy& policy;
    std::optional<DeviceKey> chosen;  // where the plan wants it
  };
  // All stages, but that no more than kPlanStagesMax are looked at closely, the chosen one among
  // them. Best first: where a device could take it now, then where it is fastest.
  std::vector<PlanCandidate> Rank(const Question& question) const;
  size_t stages() const { return stages_.size(); }

 private:
  using StageKey = std::pair<std::string, int32_t>;  // main job, stage
  struct Stage {
    StageKey key;
    std::vector<size_t> devices;  // places in devices_
  };
  // What is known of a stage at a glance.
  struct Outline {
    const Stage* stage = nullptr;
    size_t best = 0;  // place in devices_
    size_t devices_free = 0;
  };

  DeviceSnapshot* Find(const DeviceKey& key);
  Outline OutlineOf(const Stage& stage, const Question& question) const;
  PlanCandidate LookAt(const Outline& outline, const Question& question) const;
  std::vector<PlanNeighbour> NeighboursOn(const DeviceSnapshot& device) const;
  // Tasks that a job which starts there has beside it for longer than it takes to stop them.
  size_t StayingOn(const DeviceSnapshot& device) const;
  std::string WhyNot(const Stage& stage, const Question& question) const;

  const ClusterView& view_;
  const Instant now_;
  std::vector<DeviceSnapshot> devices_;
  std::vector<Stage> stages_;  // in the order of their keys
  // By `plan`, and for the job.
  absl::btree_map<DeviceKey, std::vector<JobId>> placed_;
  absl::btree_set<JobId> evicted_;
};

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_CORE_PLAN_CANDIDATES_H_
