#include "scheduler/core/node_table.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "common/check.h"

namespace pipefill::scheduler {
namespace {

MainJobUse UseOf(const Device& device) {
  if (!device.main_rank.has_value()) return MainJobUse::kNone;
  return device.main_rank->mode == FillMode::kFill ? MainJobUse::kFilled : MainJobUse::kMeasured;
}

using Fences = absl::flat_hash_set<Fence>;

// What a report of `device` counts beyond those of `live` that it names: one that is on its way to
// the agent, or has ended there while the news is still on its way here, is not among its figures.
Node::OtherLoad OtherLoadOf(const Device& device, const LiveAttempts& live, const Fences& named) {
  Node::OtherLoad load{.memory_bytes = device.memory_bytes - device.memory_free_bytes,
                       .resident = device.resident};
  for (const LiveAttempt& attempt : live.On(device.key.name)) {
    if (!named.contains(attempt.key.fence)) continue;
    load.memory_bytes -= attempt.memory_bytes;
    load.resident -= 1;
  }
  load.memory_bytes = std::max<int64_t>(load.memory_bytes, 0);
  load.resident = std::max<int32_t>(load.resident, 0);
  return load;
}

void SetDevices(std::vector<Device> devices, const LiveAttempts& live, const Fences& named,
                Node* node) {
  std::sort(devices.begin(), devices.end(),
            [](const Device& a, const Device& b) { return a.key < b.key; });
  node->devices = std::move(devices);
  node->other_loads.clear();
  for (const Device& device : node->devices) {
    node->other_loads.push_back(OtherLoadOf(device, live, named));
  }
}

// From the bubbles as learned: what may be filled of an iteration, and what is.
void AddBubbleShares(const Node& node, const std::optional<MainRank>& rank,
                     DeviceSnapshot* snapshot) {
  if (!rank.has_value() || rank->iteration_p50_ns <= 0) return;
  double offered_ns = 0;
  double filled_ns = 0;
  for (const BubbleStats& bubble : node.bubbles) {
    if (bubble.device.name != snapshot->key.name) continue;
    if (bubble.offer == BubbleOffer::kYes) offered_ns += static_cast<double>(bubble.p50_ns);
    filled_ns += static_cast<double>(bubble.filled_ns);
  }
  snapshot->bubble_share = std::min(1.0, offered_ns / static_cast<double>(rank->iteration_p50_ns));
  // The sums are of all its past; nobody fills a device without tasks.
  if (snapshot->resident == 0 || rank->iteration_ns <= 0) return;
  snapshot->filled_share =
      std::min(snapshot->bubble_share, filled_ns / static_cast<double>(rank->iteration_ns));
}

bool HaveSameBudgets(const std::vector<Device>& a, const std::vector<Device>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Device& x, const Device& y) {
    return x.memory_bytes == y.memory_bytes && x.key == y.key;
  });
}

}  // namespace

std::optional<size_t> Node::IndexOf(const std::string& device) const {
  const auto it = std::find_if(devices.begin(), devices.end(),
                               [&](const Device& known) { return known.key.name == device; });
  if (it == devices.end()) return std::nullopt;
  return static_cast<size_t>(it - devices.begin());
}

const Node* NodeTable::Find(const std::string& name) const {
  auto it = by_name_.find(name);
  return it == by_name_.end() ? nullptr : it->second;
}

const Node* NodeTable::FindBySession(SessionId session) const {
  auto it = names_by_session_.find(session);
  return it == names_by_session_.end() ? nullptr : Find(it->second);
}

void NodeTable::Register(const AgentRegistered& hello, const LiveAttempts& live,
                         absl::Duration unaccounted_for, Instant now) {
  const Node* before = Find(hello.node);
  if (before != nullptr && before->session.has_value()) names_by_session_.erase(*before->session);
  Node node;
  node.name = hello.node;
  node.boot_id = hello.boot_id;
  node.version = hello.version;
  node.session = hello.session;
  node.heard_at = now;
  Fences named;
  for (const AttemptKey& key : hello.live_attempts) named.insert(key.fence);
  SetDevices(hello.devices, live, named, &node);
  for (const LiveAttempt* attempt : live.InOrder()) {
    node.unaccounted[attempt->key.fence] = now + unaccounted_for;
  }
  for (const AttemptKey& key : hello.live_attempts) node.unaccounted.erase(key.fence);
  names_by_session_[hello.session] = hello.node;
  Replace(std::move(node));
}

void NodeTable::Report(const AgentReported& report, const LiveAttempts& live, Instant now) {
  const Node* before = FindBySession(report.session);
  CHECK(before != nullptr);
  Node node;
  node.name = before->name;
  node.boot_id = before->boot_id;
  node.version = before->version;
  node.session = before->session;
  node.heard_at = now;
  Fences named;
  for (const auto& [key, progress] : report.progress) named.insert(key.fence);
  SetDevices(report.devices, live, named, &node);
  node.bubbles = report.bubbles;
  node.unaccounted = before->unaccounted;
  Replace(std::move(node));
}

void NodeTable::Disconnect(SessionId session) {
  const Node* before = FindBySession(session);
  if (before == nullptr) return;
  Node node = *before;
  node.session = std::nullopt;
  names_by_session_.erase(session);
  Replace(std::move(node));
}

void NodeTable::Remove(const std::string& name) {
  const Node* node = Find(name);
  if (node == nullptr) return;
  if (node->session.has_value()) names_by_session_.erase(*node->session);
  SetBudgets(node->devices, {});
  by_name_.erase(name);
  nodes_.Erase(name);
  snapshot_ = nullptr;
}

void NodeTable::Expect(const std::string& name, Instant now) {
  if (Find(name) != nullptr) return;
  Node node;
  node.name = name;
  node.heard_at = now;
  Replace(std::move(node));
}

void NodeTable::Account(const std::string& name, Fence fence) {
  const Node* before = Find(name);
  if (before == nullptr || !before->unaccounted.contains(fence)) return;
  Node node = *before;
  node.unaccounted.erase(fence);
  Replace(std::move(node));
}

std::shared_ptr<const NodeMap> NodeTable::Snapshot() const {
  if (snapshot_ == nullptr) snapshot_ = std::make_shared<const NodeMap>(nodes_.Share());
  return snapshot_;
}

void NodeTable::Replace(Node node) {
  snapshot_ = nullptr;
  const Node* known = Find(node.name);
  const std::vector<Device> none;
  SetBudgets(known == nullptr ? none : known->devices, node.devices);
  auto next = std::make_shared<const Node>(std::move(node));
  by_name_[next->name] = next.get();
  nodes_.Set(std::move(next));
}

void NodeTable::SetBudgets(const std::vector<Device>& before, const std::vector<Device>& after) {
  if (HaveSameBudgets(before, after)) return;
  for (const Device& device : before) budgets_.erase({-device.memory_bytes, device.key});
  for (const Device& device : after) budgets_.insert({-device.memory_bytes, device.key});
}

const Device* NodeTable::FindLargest() const {
  if (budgets_.empty()) return nullptr;
  const DeviceKey& key = budgets_.begin()->second;
  const Node& node = *Find(key.node);
  return &node.devices[*node.IndexOf(key.name)];
}

absl::btree_set<std::string> AttachedMainJobs(const NodeMap& nodes) {
  absl::btree_set<std::string> names;
  for (const auto& [name, node] : nodes) {
    for (const Device& device : node->devices) {
      if (device.main_rank.has_value()) names.insert(device.main_rank->main_job);
    }
  }
  return names;
}

ResidentTask ResidentOf(const LiveAttempt& attempt) {
  return {.job = attempt.key.job,
          .priority = attempt.priority,
          .memory_bytes = attempt.memory_bytes,
          .is_evictable = attempt.may_be_evicted && attempt.is_started,
          .evictable_at = attempt.evictable_at,
          .is_leaving = attempt.is_leaving};
}

DeviceSnapshot SnapshotDevice(const Node& node, size_t device, const LiveAttempts& live) {
  const Device& reported = node.devices[device];
  const Node::OtherLoad& other = node.other_loads[device];
  DeviceSnapshot snapshot{.key = reported.key,
                          .memory_bytes = reported.memory_bytes,
                          .memory_free_bytes = reported.memory_bytes - other.memory_bytes,
                          .resident = other.resident,
                          .resident_limit = reported.resident_limit,
                          .main_job = UseOf(reported)};
  for (const LiveAttempt& attempt : live.On(reported.key.name)) {
    snapshot.memory_free_bytes -= attempt.memory_bytes;
    snapshot.resident += 1;
    snapshot.load_seconds += attempt.seconds_left;
    snapshot.residents.push_back(ResidentOf(attempt));
  }
  snapshot.memory_free_bytes = std::max<int64_t>(snapshot.memory_free_bytes, 0);
  AddBubbleShares(node, reported.main_rank, &snapshot);
  return snapshot;
}

}  // namespace pipefill::scheduler
