#include "planner/known_devices.h"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "planner/counts.h"

namespace pipefill {
namespace {

// Between the ranks of neighbours, to begin with.
constexpr int64_t kRankGap = int64_t{1} << 32;

}  // namespace

bool KnownDevices::Before::operator()(const Entry& a, const Entry& b) const {
  const int order = CompareScores(a.lead, a.known->score, b.lead, b.known->score);
  return order != 0 ? order < 0 : a.rank < b.rank;
}

KnownDevices::Entry KnownDevices::EntryOf(Known* known) {
  return {known->free_bytes, LeadOf(known->score), known->rank, known};
}

// --- Changes ---

void KnownDevices::Set(DeviceSnapshot device, const Policy& policy) {
  device.held_seats = 0;
  device.held_bytes = 0;
  Known*& known = index_[device.key];
  const bool is_new = known == nullptr;
  if (is_new) {
    known = Add(device.key);
  } else {
    if (known->device == device) return;
    order_.Erase(EntryOf(known));
    AddToSums(known->device, -1);
  }
  const bool is_budget_same = !is_new && known->device.memory_bytes == device.memory_bytes &&
                              known->device.main_job == device.main_job;
  if (!is_new && !is_budget_same) RemoveBudget(known->device);
  known->device = std::move(device);
  if (!is_budget_same) AddBudget(known->device);
  AddToSums(known->device, 1);
  known->free_bytes = FreeBytes(known->device);
  known->score = FullScore(known->device, policy);
  order_.Insert(EntryOf(known));
}

KnownDevices::Known* KnownDevices::Add(const DeviceKey& key) {
  const auto [it, is_new] = by_key_.emplace(key, std::make_unique<Known>());
  Known* known = it->second.get();
  const bool is_last = std::next(it) == by_key_.end();
  if (it == by_key_.begin()) {
    if (!is_last) known->rank = std::next(it)->second->rank - kRankGap;
    return known;
  }
  const int64_t before = std::prev(it)->second->rank;
  known->rank = is_last ? before + kRankGap : std::midpoint(before, std::next(it)->second->rank);
  if (known->rank == before) RankAnew();
  return known;
}

void KnownDevices::RankAnew() {
  // The one that is added is not in the order yet.
  std::vector<Known*> sorted;
  sorted.reserve(order_.size());
  Order::Position place;
  while (Known* known = FindFree(INT64_MIN, &place)) {
    sorted.push_back(known);
    ++place.place;
  }
  int64_t rank = 0;
  for (const auto& [key, known] : by_key_) known->rank = rank += kRankGap;
  order_ = Order();
  for (Known* known : sorted) order_.Insert(EntryOf(known));
}

void KnownDevices::Remove(const DeviceKey& key) {
  auto it = index_.find(key);
  if (it == index_.end()) return;
  order_.Erase(EntryOf(it->second));
  AddToSums(it->second->device, -1);
  RemoveBudget(it->second->device);
  index_.erase(it);
  by_key_.erase(key);
}

void KnownDevices::SetPolicy(const Policy& policy) {
  order_ = Order();
  for (const auto& [key, known] : by_key_) known->score = FullScore(known->device, policy);
  for (const auto& [key, known] : by_key_) order_.Insert(EntryOf(known.get()));
}

void KnownDevices::AddToSums(const DeviceSnapshot& device, int sign) {
  if (device.main_job == MainJobUse::kMeasured) devices_measured_ += sign;
  if (!IsFilled(device)) return;
  devices_filled_ += sign;
  if (device.is_quarantined) devices_quarantined_ += sign;
  resident_ += sign * device.resident;
  resident_limit_ += sign * device.resident_limit;
  if (!CanMakeRoom(device)) return;
  for (const ResidentTask& task : device.residents) CountTask(task, sign);
}

void KnownDevices::AddBudget(const DeviceSnapshot& device) {
  if (IsFilled(device)) budgets_.insert({-device.memory_bytes, device.key});
}

void KnownDevices::RemoveBudget(const DeviceSnapshot& device) {
  if (IsFilled(device)) budgets_.erase({-device.memory_bytes, device.key});
}

// --- Reads ---

KnownDevices::Known* KnownDevices::Find(const DeviceKey& key) const {
  auto it = index_.find(key);
  return it == index_.end() ? nullptr : it->second;
}

KnownDevices::Known* KnownDevices::FindFree(int64_t bytes, Order::Position* from) const {
  const Entry* entry = order_.Find(bytes, from);
  return entry == nullptr ? nullptr : entry->known;
}

PlanNumbers KnownDevices::Numbers() const {
  PlanNumbers numbers;
  numbers.devices = static_cast<int>(by_key_.size());
  numbers.devices_filled = devices_filled_;
  numbers.devices_measured = devices_measured_;
  numbers.devices_quarantined = devices_quarantined_;
  numbers.resident = resident_;
  numbers.resident_limit = resident_limit_;
  if (!budgets_.empty()) {
    numbers.largest_bytes = -budgets_.begin()->first;
    numbers.largest_device = budgets_.begin()->second;
  }
  const int64_t best_bytes = best_free_bytes();
  if (best_bytes < 0) return numbers;
  numbers.best_free_bytes = best_bytes;
  Order::Position place;
  const Known* first = nullptr;
  while (const Known* known = FindFree(best_bytes, &place)) {
    if (first == nullptr || known->rank < first->rank) first = known;
    ++place.place;
  }
  numbers.best_device = first->device.key;
  return numbers;
}

// --- Evictions ---

void KnownDevices::CountTask(const ResidentTask& task, int sign) {
  if (!task.is_evictable || task.is_leaving) return;
  if (task.evictable_at <= now_) {
    Count(task.priority, sign, &evictable_);
    return;
  }
  auto& later = evictable_later_[task.priority];
  Count(task.evictable_at, sign, &later);
  if (later.empty()) evictable_later_.erase(task.priority);
}

void KnownDevices::SetTime(Instant now) {
  if (now < now_) {  // not in a schedulerd, but it is easy to be right
    for (const auto& [key, known] : by_key_) AddToSums(known->device, -1);
    now_ = now;
    for (const auto& [key, known] : by_key_) AddToSums(known->device, 1);
  }
  now_ = now;
  for (auto level = evictable_later_.begin(); level != evictable_later_.end();) {
    auto& [priority, later] = *level;
    const auto end = later.upper_bound(now);
    for (auto it = later.begin(); it != end; ++it) evictable_[priority] += it->second;
    later.erase(later.begin(), end);
    level = later.empty() ? evictable_later_.erase(level) : std::next(level);
  }
}

std::optional<int32_t> KnownDevices::lowest_evictable() const {
  if (evictable_.empty()) return std::nullopt;
  return evictable_.begin()->first;
}

std::optional<Instant> KnownDevices::NextEvictable(int32_t priority) const {
  std::optional<Instant> next;
  for (const auto& [level, later] : evictable_later_) {
    if (level >= priority) break;
    next = std::min(next.value_or(later.begin()->first), later.begin()->first);
  }
  return next;
}

// --- Trying ---

void KnownDevices::Note(Known* known) {
  if (std::exchange(known->is_tried, true)) return;
  const DeviceSnapshot& device = known->device;
  tried_.push_back({.known = known,
                    .load = {.memory_free_bytes = device.memory_free_bytes,
                             .resident = device.resident,
                             .filled_share = device.filled_share,
                             .load_seconds = device.load_seconds,
                             .held_seats = device.held_seats,
                             .held_bytes = device.held_bytes},
                    .score = known->score});
}

void KnownDevices::Place(Known* known, Score score) {
  const Entry before = EntryOf(known);
  order_.Erase(before);
  known->score = std::move(score);
  known->free_bytes = FreeBytes(known->device);
  order_.Insert(EntryOf(known));
}

void KnownDevices::TryEviction(Known* known, const Policy& policy, const PendingJob& job,
                               const EvictionChoice& choice) {
  for (size_t victim : choice.victims) {
    CountTask(known->device.residents[victim], -1);
    tried_victims_.emplace_back(known, victim);
  }
  Try(known, policy, [&](DeviceSnapshot* device) { Evict(job, choice, device); });
}

void KnownDevices::Restore() {
  for (const auto& [known, victim] : tried_victims_) {
    ResidentTask& task = known->device.residents[victim];
    task.is_leaving = false;
    CountTask(task, 1);
  }
  tried_victims_.clear();
  for (Tried& tried : tried_) {
    DeviceSnapshot& device = tried.known->device;
    if (IsFilled(device)) resident_ += tried.load.resident - device.resident;
    device.memory_free_bytes = tried.load.memory_free_bytes;
    device.resident = tried.load.resident;
    device.filled_share = tried.load.filled_share;
    device.load_seconds = tried.load.load_seconds;
    device.held_seats = tried.load.held_seats;
    device.held_bytes = tried.load.held_bytes;
    tried.known->is_tried = false;
    Place(tried.known, std::move(tried.score));
  }
  tried_.clear();
}

}  // namespace pipefill
