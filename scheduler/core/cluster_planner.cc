#include "scheduler/core/cluster_planner.h"

#include <algorithm>
#include <optional>

namespace pipefill::scheduler {

Plan ClusterPlanner::MakePlan(ClusterState* state, const EventTime& time) {
  PlanChanges changes = state->TakePlanChanges();
  for (auto it = times_.begin(); it != times_.end() && it->first <= time.now; ++it) {
    changes.nodes.insert(it->second);
  }
  for (const std::string& node : changes.nodes) Follow(*state, node, time.now);
  for (const DeviceKey& device : changes.devices) {
    // Of a node that was silent until now: that is a change of the node.
    if (nodes_.contains(device.node) && !changes.nodes.contains(device.node)) {
      std::optional<DeviceSnapshot> snapshot = state->SnapshotDevice(device, time.now);
      if (snapshot.has_value()) planner_.SetDevice(*std::move(snapshot));
    }
  }
  // Those with neighbouring ids lie near each other in memory.
  std::vector<JobId> jobs(changes.jobs.begin(), changes.jobs.end());
  std::sort(jobs.begin(), jobs.end());
  for (JobId id : jobs) {
    std::optional<PendingJob> job = state->SnapshotPending(id, time);
    if (job.has_value()) {
      planner_.SetJob(*std::move(job));
    } else {
      planner_.RemoveJob(id);
    }
  }
  planner_.SetTenants(state->tenants().Snapshot(time.wall));
  Plan plan = planner_.MakePlan(time.now);
  for (const auto& [node, quarantine] : *state->refusals().Snapshot()) {
    if (quarantine.until <= time.now) continue;
    plan.next_plan = std::min(plan.next_plan.value_or(quarantine.until), quarantine.until);
  }
  return plan;
}

void ClusterPlanner::Follow(const ClusterState& state, const std::string& name, Instant now) {
  KnownNode& known = nodes_[name];
  times_.erase({known.look_at, name});
  std::vector<DeviceSnapshot> devices = state.SnapshotNode(name, now);
  for (const DeviceKey& key : known.devices) {
    const bool is_there = std::any_of(devices.begin(), devices.end(),
                                      [&](const DeviceSnapshot& d) { return d.key == key; });
    if (!is_there) planner_.RemoveDevice(key);
  }
  if (devices.empty()) {
    nodes_.erase(name);
    return;
  }
  known.look_at = state.HeardUntil(*state.nodes().Find(name)) + absl::Nanoseconds(1);
  const Quarantine* quarantine = state.refusals().Find(name, now);
  if (quarantine != nullptr) known.look_at = std::min(known.look_at, quarantine->until);
  times_.insert({known.look_at, name});
  known.devices.clear();
  for (DeviceSnapshot& device : devices) {
    known.devices.push_back(device.key);
    planner_.SetDevice(std::move(device));
  }
}

}  // namespace pipefill::scheduler
