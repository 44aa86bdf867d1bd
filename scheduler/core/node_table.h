// The nodes whose agents have dialled in, and what they told. Soft state.
//
//               registered                 stream broke
//   (unknown) -------------> connected <------------------> away
//       ^                        |         registered         |
//       +------------------------+----------------------------+
//                        silent for lost_after: lost
//
// A node with attempts from before a restart of schedulerd begins as away.
//
// Thread-compatible: belongs to one loop. A NodeMap that was handed out never changes.
#ifndef SCHEDULER_CORE_NODE_TABLE_H_
#define SCHEDULER_CORE_NODE_TABLE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "common/ids.h"
#include "common/instant.h"
#include "scheduler/core/device.h"
#include "scheduler/core/event.h"
#include "scheduler/core/job.h"
#include "scheduler/core/live_attempts.h"
#include "scheduler/core/node_map.h"

namespace pipefill::scheduler {

struct Node {
  std::string name;
  std::string boot_id;  // empty = not known, after a restart of schedulerd
  std::string version;
  std::optional<SessionId> session;  // while connected
  Instant heard_at;
  std::vector<Device> devices;  // in device order
  std::vector<BubbleStats> bubbles;
  // Per entry of `devices`: memory and tasks in the last report that are not those of live attempts
  // which it names: the main rank, and what the agent knows and we do not. A hello also names
  // attempts whose end it has yet to tell; the first report, at most a second later, does not.
  struct OtherLoad {
    int64_t memory_bytes = 0;
    int32_t resident = 0;
  };
  std::vector<OtherLoad> other_loads;
  // Attempts that the agent did not name when it dialled in: until when they must show up.
  absl::btree_map<Fence, Instant> unaccounted;

  bool is_connected() const { return session.has_value(); }
  // The place of the device of that name in `devices`; nullopt if there is none.
  std::optional<size_t> IndexOf(const std::string& device) const;
};

class NodeTable {
 public:
  // nullptr if not known. Valid until the next change.
  const Node* Find(const std::string& name) const;
  // The connected node that has this session; nullptr if there is none (any more).
  const Node* FindBySession(SessionId session) const;
  const NodeMap& nodes() const { return nodes_; }
  // The device with the largest budget of all known nodes; the first one if there are several;
  // nullptr if there is none. Valid until the next change.
  const Device* FindLargest() const;
  // All, as they are now; the same map again until something changes.
  std::shared_ptr<const NodeMap> Snapshot() const;

  // `live` are the attempts of that node.
  void Register(const AgentRegistered& hello, const LiveAttempts& live,
                absl::Duration unaccounted_for, Instant now);
  // REQUIRES: the session is known.
  void Report(const AgentReported& report, const LiveAttempts& live, Instant now);
  void Disconnect(SessionId session);
  void Remove(const std::string& name);
  // The agent is expected to dial in; counts as heard of at `now`.
  void Expect(const std::string& name, Instant now);
  // The attempt has shown up: it started, or it ended.
  void Account(const std::string& name, Fence fence);

 private:
  void Replace(Node node);
  // Keeps `budgets_` in step.
  void SetBudgets(const std::vector<Device>& before, const std::vector<Device>& after);

  NodeMap nodes_;
  // The same ones: sought far more often than listed.
  absl::flat_hash_map<std::string, const Node*> by_name_;
  // nullptr = something has changed.
  mutable std::shared_ptr<const NodeMap> snapshot_;
  absl::btree_map<SessionId, std::string> names_by_session_;
  // Of all devices, less than 0: the largest, and of those the first one, comes first.
  absl::btree_set<std::pair<int64_t, DeviceKey>> budgets_;
};

// Main jobs that have a rank on any of the nodes.
absl::btree_set<std::string> AttachedMainJobs(const NodeMap& nodes);

// The attempt as the planner sees it.
ResidentTask ResidentOf(const LiveAttempt& attempt);

// The device as the planner sees it, with all of `live` on it or on their way to it.
DeviceSnapshot SnapshotDevice(const Node& node, size_t device, const LiveAttempts& live);

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_CORE_NODE_TABLE_H_
