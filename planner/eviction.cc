#include "planner/eviction.h"

#include <algorithm>
#include <tuple>

#include "planner/feasibility.h"

namespace pipefill {
namespace {

// What is missing on a device.
struct Shortage {
  int seats = 0;
  int64_t bytes = 0;

  bool is_met() const { return seats <= 0 && bytes <= 0; }
  void Take(const ResidentTask& task) {
    --seats;
    bytes -= task.memory_bytes;
  }
  void Return(const ResidentTask& task) {
    ++seats;
    bytes += task.memory_bytes;
  }
};

// The cheapest to lose first: low priority, then much memory, then the one that came last.
bool IsBetterVictim(const ResidentTask& a, const ResidentTask& b) {
  return std::tuple(a.priority, -a.memory_bytes, -a.job.value()) <
         std::tuple(b.priority, -b.memory_bytes, -b.job.value());
}

}  // namespace

bool MayEvict(int32_t priority, const ResidentTask& task, Instant now) {
  return task.priority < priority && task.is_evictable && !task.is_leaving &&
         task.evictable_at <= now;
}

bool CanMakeRoom(const DeviceSnapshot& device) {
  return device.main_job == MainJobUse::kFilled && !device.is_quarantined;
}

std::optional<EvictionChoice> ChooseVictims(const PendingJob& job, const DeviceSnapshot& device,
                                            Instant now) {
  if (!CanMakeRoom(device) || !FitsBubbles(job, device)) return std::nullopt;
  std::vector<size_t> candidates;
  for (size_t i = 0; i < device.residents.size(); ++i) {
    if (device.residents[i].is_leaving) return std::nullopt;
    if (MayEvict(job.priority, device.residents[i], now)) candidates.push_back(i);
  }
  if (candidates.empty()) return std::nullopt;
  Shortage shortage = {.seats = device.resident + device.held_seats + 1 - device.resident_limit,
                       .bytes = job.memory_bytes + device.held_bytes - device.memory_free_bytes};
  if (shortage.is_met()) return std::nullopt;
  std::sort(candidates.begin(), candidates.end(), [&](size_t a, size_t b) {
    return IsBetterVictim(device.residents[a], device.residents[b]);
  });
  std::vector<size_t> victims;
  for (size_t i : candidates) {
    if (shortage.is_met()) break;
    shortage.Take(device.residents[i]);
    victims.push_back(i);
  }
  if (!shortage.is_met()) return std::nullopt;
  EvictionChoice choice;
  // The dearest ones first are let off, where the rest is enough.
  for (auto it = victims.rbegin(); it != victims.rend(); ++it) {
    const ResidentTask& task = device.residents[*it];
    shortage.Return(task);
    if (shortage.is_met()) continue;
    shortage.Take(task);
    choice.victims.push_back(*it);
  }
  std::reverse(choice.victims.begin(), choice.victims.end());
  choice.cost.highest_priority = device.residents[choice.victims.back()].priority;
  choice.cost.victims = static_cast<int>(choice.victims.size());
  return choice;
}

void Evict(const PendingJob& job, const EvictionChoice& choice, DeviceSnapshot* device) {
  for (size_t i : choice.victims) device->residents[i].is_leaving = true;
  Hold(job, device);
}

}  // namespace pipefill
