#include "planner/planner.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "common/check.h"
#include "planner/feasibility.h"

namespace pipefill {
namespace {

// The best pair of one job, as the devices were when it was scored.
struct Candidate {
  Score score;
  size_t job = 0;     // index into snapshot.pending
  size_t device = 0;  // index into devices
  int taken = 0;      // placements on that device when it was scored
};

// Whether `a` is placed after `b`. Jobs are in the order of their ids, devices in device order.
bool IsWorse(const Candidate& a, const Candidate& b) {
  if (a.score != b.score) return a.score < b.score;
  return std::pair(a.job, a.device) > std::pair(b.job, b.device);
}

// One run of MakePlan. Thread-compatible.
class PlanMaker {
 public:
  PlanMaker(const ClusterSnapshot& snapshot, const Policy& policy, absl::BitGenRef random)
      : snapshot_(snapshot),
        policy_(policy),
        random_(random),
        devices_(snapshot.devices),
        taken_(snapshot.devices.size(), 0),
        is_placed_(snapshot.pending.size(), false) {
    for (size_t i = 0; i < devices_.size(); ++i) {
      if (IsOpen(devices_[i])) open_.push_back(i);
    }
  }

  Plan Make() {
    for (size_t job = 0; job < snapshot_.pending.size() && !open_.empty(); ++job) Enter(job);
    while (!candidates_.empty()) TakeBest();
    Explain();
    return std::move(plan_);
  }

 private:
  // Puts the best pair of the job into the heap; nothing if it fits nowhere.
  void Enter(size_t job) {
    const PendingJob& pending = snapshot_.pending[job];
    if (IsBackingOff(pending, snapshot_.now)) return;
    std::optional<Candidate> best;
    const bool is_wish_granted = std::any_of(open_.begin(), open_.end(), [&](size_t device) {
      return pending.preferred == devices_[device].key && Fits(pending, devices_[device]);
    });
    for (size_t device : open_) {
      if (!Fits(pending, devices_[device])) continue;
      if (is_wish_granted && pending.preferred != devices_[device].key) continue;
      Candidate candidate{policy_.ScorePair(pending, devices_[device], snapshot_, random_), job,
                          device, taken_[device]};
      if (!best.has_value() || IsWorse(*best, candidate)) best = std::move(candidate);
    }
    if (best.has_value()) candidates_.push(*std::move(best));
  }

  // Places the pair on top of the heap. If its device has taken a job since the pair was scored, it
  // is scored again instead: scores only fall by a placement, so no other pair has overtaken
  // unseen.
  void TakeBest() {
    const Candidate best = candidates_.top();
    candidates_.pop();
    if (best.taken != taken_[best.device]) {
      Enter(best.job);
      return;
    }
    DeviceSnapshot& device = devices_[best.device];
    const PendingJob& job = snapshot_.pending[best.job];
    ++device.resident;
    device.memory_free_bytes -= job.memory_bytes;
    ++taken_[best.device];
    is_placed_[best.job] = true;
    plan_.placements.push_back({job.id, device.key});
  }

  void Explain() {
    for (size_t i = 0; i < snapshot_.pending.size(); ++i) {
      if (!is_placed_[i]) ExplainOne(snapshot_.pending[i]);
    }
  }

  void ExplainOne(const PendingJob& job) {
    if (IsBackingOff(job, snapshot_.now)) {
      if (!plan_.next_plan.has_value() || *job.not_before < *plan_.next_plan) {
        plan_.next_plan = job.not_before;
      }
      AddReason(job);
      plan_.waiting.push_back({job.id, plan_.reasons.size() - 1});
      return;
    }
    // Jobs with the same need wait for the same reason.
    auto [it, is_new] = reason_by_need_.try_emplace(std::pair(job.memory_bytes, job.needs.get()),
                                                    plan_.reasons.size());
    if (is_new) AddReason(job);
    plan_.waiting.push_back({job.id, it->second});
  }

  void AddReason(const PendingJob& job) {
    plan_.reasons.push_back(ExplainWaiting(job, devices_, snapshot_.now));
  }

  const ClusterSnapshot& snapshot_;
  const Policy& policy_;
  absl::BitGenRef random_;
  // As the plan leaves them so far.
  std::vector<DeviceSnapshot> devices_;
  std::vector<int> taken_;
  // Indices of the devices that were open at the beginning.
  std::vector<size_t> open_;
  std::vector<bool> is_placed_;
  std::priority_queue<Candidate, std::vector<Candidate>, decltype(&IsWorse)> candidates_{&IsWorse};
  absl::btree_map<std::pair<int64_t, const std::vector<UnitNeed>*>, size_t> reason_by_need_;
  Plan plan_;
};

}  // namespace

Plan MakePlan(const ClusterSnapshot& snapshot, const Policy& policy, absl::BitGenRef random) {
  CHECK(std::is_sorted(
      snapshot.devices.begin(), snapshot.devices.end(),
      [](const DeviceSnapshot& a, const DeviceSnapshot& b) { return a.key < b.key; }));
  CHECK(std::is_sorted(snapshot.pending.begin(), snapshot.pending.end(),
                       [](const PendingJob& a, const PendingJob& b) { return a.id < b.id; }));
  return PlanMaker(snapshot, policy, random).Make();
}

}  // namespace pipefill
