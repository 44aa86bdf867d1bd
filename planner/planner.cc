#include "planner/planner.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "common/check.h"
#include "planner/eviction.h"
#include "planner/feasibility.h"

namespace pipefill {
namespace {

// One run of MakePlan. Thread-compatible.
class PlanMaker {
 public:
  PlanMaker(const ClusterSnapshot& snapshot, const Policy& policy, const PlanLimits& limits)
      : snapshot_(snapshot),
        policy_(policy),
        limits_(limits),
        devices_(snapshot.devices),
        pending_(snapshot.pending),
        is_seen_(snapshot.pending.size(), false) {
    plan_.tenants = snapshot.tenants;
    if (!snapshot.pending.empty()) plan_.last_job = snapshot.pending.back().id;
  }

  Plan Make() {
    for (PendingJob& job : pending_) Prepare(&job);
    for (bool is_borrowing : {false, true}) {
      while (!IsFull()) {
        const std::optional<size_t> next = PickNext(is_borrowing);
        if (!next.has_value()) break;
        is_seen_[*next] = true;
        Look(pending_[*next], is_borrowing);
      }
    }
    if (IsFull()) WakeAt(snapshot_.now);
    if (!policy_.error().ok()) return Failed();
    FindNextEviction();
    for (const DeviceSnapshot& device : devices_) AddDevice(device, &plan_.numbers);
    return std::move(plan_);
  }

 private:
  bool IsFull() const {
    return static_cast<int>(plan_.placements.size()) >= limits_.placements_max;
  }

  Plan Failed() const {
    Plan failed;
    failed.error = policy_.error();
    return failed;
  }

  void Prepare(PendingJob* waiting) {
    if (!HasReservation(*waiting, snapshot_.now)) waiting->reserved = std::nullopt;
    const PendingJob& job = *waiting;
    if (IsBackingOff(job, snapshot_.now)) WakeAt(*job.not_before);
    if (!job.reserved.has_value()) return;
    WakeAt(job.reserved->until);
    ++TenantOf(job).resident;
    for (DeviceSnapshot& device : devices_) {
      if (device.key == job.reserved->device) Hold(job, &device);
    }
  }

  void WakeAt(Instant at) {
    if (!plan_.next_plan.has_value() || at < *plan_.next_plan) plan_.next_plan = at;
  }

  TenantSnapshot& TenantOf(const PendingJob& job) { return plan_.tenants[job.tenant]; }

  std::optional<size_t> PickNext(bool is_borrowing) {
    std::optional<size_t> best;
    for (size_t i = 0; i < pending_.size(); ++i) {
      const PendingJob& job = pending_[i];
      if (is_seen_[i] || IsBackingOff(job, snapshot_.now)) continue;
      const TenantSnapshot& tenant = TenantOf(job);
      const bool is_over = tenant.is_full() && !job.reserved.has_value();
      if (is_over && !(is_borrowing && tenant.may_borrow)) continue;
      if (!best.has_value() || GoesBefore(job, pending_[*best])) best = i;
    }
    return best;
  }

  // Jobs are in the order of their ids, so an equal one does not go before.
  bool GoesBefore(const PendingJob& a, const PendingJob& b) {
    if (a.priority != b.priority) return a.priority > b.priority;
    return policy_.ScoreJob(a, TenantOf(a)) > policy_.ScoreJob(b, TenantOf(b));
  }

  void Look(const PendingJob& job, bool is_borrowing) {
    DeviceSnapshot* device = BestFor(job);
    if (device != nullptr) {
      Place(job, device);
      return;
    }
    for (const DeviceSnapshot& other : devices_) NoteMisfit(job, other, &plan_.misfits);
    if (!is_borrowing && !job.reserved.has_value()) MakeRoom(job);
  }

  DeviceSnapshot* BestFor(const PendingJob& job) {
    DeviceSnapshot* best = nullptr;
    std::tuple<bool, bool, Score> best_rank;
    for (DeviceSnapshot& device : devices_) {
      if (!Fits(job, device)) continue;
      const bool is_reserved = job.reserved.has_value() && job.reserved->device == device.key;
      std::tuple rank(job.preferred == device.key, is_reserved, FullScore(device, policy_));
      if (best != nullptr && rank <= best_rank) continue;
      best = &device;
      best_rank = std::move(rank);
    }
    return best;
  }

  void Place(const PendingJob& job, DeviceSnapshot* device) {
    plan_.placements.push_back({job.id, device->key});
    PutOn(job, device);
    if (!job.reserved.has_value()) {
      CountFor(&TenantOf(job));
      return;
    }
    for (DeviceSnapshot& held : devices_) {
      if (held.key != job.reserved->device) continue;
      --held.held_seats;
      held.held_bytes -= job.memory_bytes;
      // Somebody who was looked at before may have it.
      if (&held != device) WakeAt(snapshot_.now);
    }
  }

  void MakeRoom(const PendingJob& job) {
    DeviceSnapshot* best = nullptr;
    std::optional<EvictionChoice> best_choice;
    for (DeviceSnapshot& device : devices_) {
      std::optional<EvictionChoice> choice = ChooseVictims(job, device, snapshot_.now);
      if (!choice.has_value()) continue;
      if (best != nullptr && choice->cost >= best_choice->cost) continue;
      best = &device;
      best_choice = std::move(choice);
    }
    if (best == nullptr) return;
    if (beneficiaries_ == limits_.beneficiaries_max) {
      WakeAt(snapshot_.now);
      return;
    }
    ++beneficiaries_;
    for (size_t victim : best_choice->victims) {
      plan_.evictions.push_back({best->residents[victim].job, best->key, job.id});
    }
    Evict(job, *best_choice, best);
    CountFor(&TenantOf(job));
  }

  // When a task will have run for long enough to go for a job that waits.
  void FindNextEviction() {
    std::optional<int32_t> highest;
    for (const PendingJob& job : pending_) {
      highest = std::max(highest.value_or(job.priority), job.priority);
    }
    if (!highest.has_value()) return;
    for (const DeviceSnapshot& device : devices_) {
      if (!CanMakeRoom(device)) continue;
      for (const ResidentTask& task : device.residents) {
        const bool is_later = task.evictable_at > snapshot_.now;
        if (is_later && MayEvict(*highest, task, task.evictable_at)) WakeAt(task.evictable_at);
      }
    }
  }

  const ClusterSnapshot& snapshot_;
  const Policy& policy_;
  const PlanLimits limits_;
  // As the plan leaves them so far.
  std::vector<DeviceSnapshot> devices_;
  // Without the reservations that have expired.
  std::vector<PendingJob> pending_;
  std::vector<bool> is_seen_;
  int beneficiaries_ = 0;
  Plan plan_;
};

}  // namespace

Score FullScore(const DeviceSnapshot& device, const Policy& policy) {
  Score score = policy.ScoreDevice(device);
  score.push_back(-static_cast<double>(device.resident));
  score.push_back(static_cast<double>(device.memory_free_bytes));
  return score;
}

Plan MakePlan(const ClusterSnapshot& snapshot, const Policy& policy, const PlanLimits& limits) {
  CHECK(std::is_sorted(
      snapshot.devices.begin(), snapshot.devices.end(),
      [](const DeviceSnapshot& a, const DeviceSnapshot& b) { return a.key < b.key; }));
  CHECK(std::is_sorted(snapshot.pending.begin(), snapshot.pending.end(),
                       [](const PendingJob& a, const PendingJob& b) { return a.id < b.id; }));
  return PlanMaker(snapshot, policy, limits).Make();
}

}  // namespace pipefill
