// Keeps a planner up to date with the state of the cluster, by what has changed in it, and by what
// time alone changes: nodes that fall silent, quarantines that end.
//
// Thread-compatible: belongs to the scheduler loop.
#ifndef SCHEDULER_CORE_CLUSTER_PLANNER_H_
#define SCHEDULER_CORE_CLUSTER_PLANNER_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "planner/plan.h"
#include "planner/policy.h"
#include "planner/standing_planner.h"
#include "scheduler/core/cluster_state.h"

namespace pipefill::scheduler {

class ClusterPlanner {
 public:
  // `policy` outlives it, or the next SetPolicy.
  explicit ClusterPlanner(const Policy& policy) : planner_(policy) {}

  void SetPolicy(const Policy& policy) { planner_.SetPolicy(policy); }

  // Takes over what has changed in `state`, which is always the same one, and plans. The plan asks
  // to be made anew when a quarantine ends, too.
  Plan MakePlan(ClusterState* state, const EventTime& time);

  // As of the last plan.
  const StandingPlanner& planner() const { return planner_; }

 private:
  // When a node must be looked at again though nothing is heard of it.
  using NodeTimes = absl::btree_set<std::pair<Instant, std::string>>;
  struct KnownNode {
    std::vector<DeviceKey> devices;
    Instant look_at;
  };

  void Follow(const ClusterState& state, const std::string& name, Instant now);

  StandingPlanner planner_;
  absl::flat_hash_map<std::string, KnownNode> nodes_;
  NodeTimes times_;
};

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_CORE_CLUSTER_PLANNER_H_
