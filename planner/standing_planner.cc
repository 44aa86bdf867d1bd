#include "planner/standing_planner.h"

#include <algorithm>
#include <limits>
#include <queue>

#include "absl/container/flat_hash_set.h"
#include "planner/eviction.h"
#include "planner/feasibility.h"

namespace pipefill {
namespace {

constexpr int64_t kAlways = std::numeric_limits<int64_t>::max();

JobNeed NeedOf(const PendingJob& job) { return {job.needs, job.memory_bytes}; }

template <typename Key>
void Count(const Key& key, int sign, absl::btree_map<Key, size_t>* counts) {
  size_t& count = (*counts)[key];
  count += static_cast<size_t>(sign);
  if (count == 0) counts->erase(key);
}

}  // namespace

// --- Orders ---

bool StandingPlanner::JobBefore::operator()(const JobEntry& a, const JobEntry& b) const {
  if (a.known->job.priority != b.known->job.priority) {
    return a.known->job.priority > b.known->job.priority;
  }
  if (a.known->score != b.known->score) return a.known->score > b.known->score;
  return a.known->job.id < b.known->job.id;
}

bool StandingPlanner::DeviceBefore::operator()(const DeviceEntry& a, const DeviceEntry& b) const {
  if (a.known->score != b.known->score) return a.known->score > b.known->score;
  return a.known->device.key < b.known->device.key;
}

bool StandingPlanner::HeadAfter::operator()(const Head& a, const Head& b) const {
  if (a.job->priority != b.job->priority) return a.job->priority < b.job->priority;
  if (a.score != b.score) return a.score < b.score;
  return a.job->id > b.job->id;
}

// --- Changes ---

void StandingPlanner::SetPolicy(const Policy& policy) {
  policy_ = &policy;
  std::vector<PendingJob> jobs;
  for (JobId id : ids_) jobs.push_back(jobs_.at(id)->job);
  for (PendingJob& job : jobs) SetJob(std::move(job));
  for (DeviceSnapshot& device : Devices()) SetDevice(std::move(device));
}

StandingPlanner::JobEntry StandingPlanner::EntryOf(const KnownJob& known) {
  return {known.job.reserved.has_value() ? kAlways : -known.job.memory_bytes, &known};
}

void StandingPlanner::SetJob(PendingJob job) {
  RemoveJob(job.id);
  auto owned = std::make_unique<KnownJob>();
  KnownJob& known = *owned;
  known.score = policy_->ScoreJob(job, TenantSnapshot());
  known.job = std::move(job);
  const JobId id = known.job.id;
  jobs_.emplace(id, std::move(owned));
  ids_.insert(id);
  Count(known.job.priority, 1, &priorities_);
  if (known.job.reserved.has_value()) reserved_.insert(id);
  if (known.job.not_before.has_value()) {
    backing_off_.emplace(*known.job.not_before, id);
  } else {
    Enter(&known);
  }
}

void StandingPlanner::RemoveJob(JobId id) {
  auto it = jobs_.find(id);
  if (it == jobs_.end()) return;
  const KnownJob& known = *it->second;
  Count(known.job.priority, -1, &priorities_);
  reserved_.erase(id);
  ids_.erase(id);
  if (known.is_in_line) {
    auto line = lines_.find(known.job.tenant);
    line->second.Erase(EntryOf(known));
    if (line->second.size() == 0) lines_.erase(line);
  } else {
    backing_off_.erase({*known.job.not_before, id});
  }
  jobs_.erase(it);
}

void StandingPlanner::Enter(KnownJob* known) {
  known->is_in_line = true;
  lines_[known->job.tenant].Insert(EntryOf(*known));
}

void StandingPlanner::WakeJobs(Instant now) {
  while (!backing_off_.empty() && backing_off_.begin()->first <= now) {
    const JobId id = backing_off_.begin()->second;
    backing_off_.erase(backing_off_.begin());
    Enter(jobs_.at(id).get());
  }
}

void StandingPlanner::DropReservations(Instant now) {
  std::vector<PendingJob> expired;
  for (JobId id : reserved_) {
    const PendingJob& job = jobs_.at(id)->job;
    if (!HasReservation(job, now)) expired.push_back(job);
  }
  for (PendingJob& job : expired) {
    job.reserved = std::nullopt;
    SetJob(std::move(job));
  }
}

void StandingPlanner::SetDevice(DeviceSnapshot device) {
  device.held_seats = 0;
  device.held_bytes = 0;
  std::unique_ptr<KnownDevice>& known = devices_[device.key];
  const bool is_new = known == nullptr;
  if (is_new) {
    known = std::make_unique<KnownDevice>();
  } else {
    Unlink(known.get());
    AddToSums(known->device, -1);
  }
  const bool is_budget_same = !is_new && known->device.memory_bytes == device.memory_bytes &&
                              known->device.main_job == device.main_job;
  if (!is_new && !is_budget_same) RemoveBudget(known->device);
  known->device = std::move(device);
  if (!is_budget_same) AddBudget(known->device);
  AddToSums(known->device, 1);
  Link(known.get());
}

void StandingPlanner::RemoveDevice(const DeviceKey& key) {
  auto it = devices_.find(key);
  if (it == devices_.end()) return;
  Unlink(it->second.get());
  AddToSums(it->second->device, -1);
  RemoveBudget(it->second->device);
  devices_.erase(it);
}

void StandingPlanner::Link(KnownDevice* known) {
  known->score = FullScore(known->device, *policy_);
  order_.Insert({FreeBytes(known->device), known});
}

void StandingPlanner::Unlink(KnownDevice* known) {
  order_.Erase({FreeBytes(known->device), known});
}

void StandingPlanner::AddToSums(const DeviceSnapshot& device, int sign) {
  if (device.main_job == MainJobUse::kMeasured) devices_measured_ += sign;
  if (device.main_job != MainJobUse::kFilled) return;
  devices_filled_ += sign;
  if (device.is_quarantined) devices_quarantined_ += sign;
  resident_ += sign * device.resident;
  resident_limit_ += sign * device.resident_limit;
  for (const ResidentTask& task : device.residents) {
    if (task.is_evictable) Count(task.priority, sign, &evictable_);
  }
}

void StandingPlanner::AddBudget(const DeviceSnapshot& device) {
  if (device.main_job == MainJobUse::kFilled) budgets_.insert({-device.memory_bytes, device.key});
}

void StandingPlanner::RemoveBudget(const DeviceSnapshot& device) {
  if (device.main_job == MainJobUse::kFilled) budgets_.erase({-device.memory_bytes, device.key});
}

// --- Plans ---

struct StandingPlanner::Run {
  Instant now;
  Plan plan;
  bool is_borrowing = false;
  std::priority_queue<Head, std::vector<Head>, HeadAfter> heads;
  // Per tenant: where the line goes on, and where it became full.
  absl::btree_map<std::string, Line::Position> places;
  absl::btree_map<std::string, Line::Position> full_from;
  // Those with a reservation that were looked at.
  absl::flat_hash_set<JobId> seen_reserved;
  int beneficiaries = 0;
  bool is_eviction_over = false;
  // Nothing can be evicted for jobs that need as much; they come in the order of their priorities.
  int64_t failed_bytes = kAlways;
  absl::flat_hash_set<JobNeed> failed_needs;
  // Such needs fit no device now: its bubbles do not change in a run, and no device takes more than
  // before.
  absl::flat_hash_set<JobNeed> nowhere;
  // What devices were before the run.
  std::vector<std::pair<KnownDevice*, DeviceSnapshot>> touched;
  absl::flat_hash_set<KnownDevice*> is_touched;

  void WakeAt(Instant at) {
    if (!plan.next_plan.has_value() || at < *plan.next_plan) plan.next_plan = at;
  }
};

template <typename Change>
void StandingPlanner::Edit(KnownDevice* known, Run* run, const Change& change) {
  if (run->is_touched.insert(known).second) run->touched.emplace_back(known, known->device);
  Unlink(known);
  const int before = known->device.resident;
  change(&known->device);
  if (known->device.main_job == MainJobUse::kFilled) resident_ += known->device.resident - before;
  Link(known);
}

Plan StandingPlanner::MakePlan(Instant now) {
  DropReservations(now);  // which puts jobs back among those that may have to wait
  WakeJobs(now);
  Run run;
  run.now = now;
  run.plan.tenants = tenants_;
  if (!ids_.empty()) run.plan.last_job = *ids_.rbegin();
  if (!backing_off_.empty()) run.WakeAt(backing_off_.begin()->first);
  HoldAll(&run);
  for (bool is_borrowing : {false, true}) {
    run.is_borrowing = is_borrowing;
    LookAtAll(&run);
  }
  if (IsFull(run)) run.WakeAt(now);
  FindNextEviction(&run);
  run.plan.numbers = Numbers();
  for (auto& [known, before] : run.touched) {
    Edit(known, &run, [&before = before](DeviceSnapshot* device) { *device = std::move(before); });
  }
  if (policy_->error().ok()) return std::move(run.plan);
  Plan failed;
  failed.error = policy_->error();
  return failed;
}

void StandingPlanner::HoldAll(Run* run) {
  for (JobId id : reserved_) {
    const PendingJob& job = jobs_.at(id)->job;
    run->WakeAt(job.reserved->until);
    ++run->plan.tenants[job.tenant].resident;
    auto it = devices_.find(job.reserved->device);
    if (it == devices_.end()) continue;
    Edit(it->second.get(), run, [&](DeviceSnapshot* device) { Hold(job, device); });
  }
}

bool StandingPlanner::IsFull(const Run& run) const {
  return static_cast<int>(run.plan.placements.size()) >= limits_.placements_max;
}

void StandingPlanner::LookAtAll(Run* run) {
  if (IsFull(*run)) return;
  for (const auto& [tenant, line] : lines_) {
    const TenantSnapshot& limits = run->plan.tenants[tenant];
    if (run->is_borrowing) {
      auto full_from = run->full_from.find(tenant);
      if (full_from == run->full_from.end() || !limits.may_borrow) continue;
      run->places[tenant] = full_from->second;
    }
    PushHead(tenant, run);
  }
  while (!run->heads.empty() && !IsFull(*run)) {
    const Head head = run->heads.top();
    run->heads.pop();
    if (IsDue(*head.job, *run)) Look(*head.job, run);
    if (head.job->reserved.has_value()) run->seen_reserved.insert(head.job->id);
    ++run->places[*head.tenant].place;
    PushHead(*head.tenant, run);
  }
}

bool StandingPlanner::IsDue(const PendingJob& job, const Run& run) {
  if (job.reserved.has_value()) return !run.seen_reserved.contains(job.id);
  return run.is_borrowing || !run.plan.tenants.at(job.tenant).is_full();
}

void StandingPlanner::PushHead(const std::string& tenant, Run* run) const {
  auto line = lines_.find(tenant);
  const JobEntry* entry = NextEntry(tenant, line->second, run);
  if (entry == nullptr) return;
  const PendingJob& job = entry->known->job;
  run->heads.push({policy_->ScoreJob(job, run->plan.tenants.at(tenant)), &job, &line->first});
}

const StandingPlanner::JobEntry* StandingPlanner::NextEntry(const std::string& tenant,
                                                            const Line& line, Run* run) const {
  Line::Position& place = run->places[tenant];
  if (!run->is_borrowing && run->plan.tenants.at(tenant).is_full()) {
    run->full_from.emplace(tenant, place);
    return line.Find(kAlways, &place);
  }
  const int64_t fits = -std::max<int64_t>(order_.MaxValue(), -1);
  const bool may_evict = !run->is_borrowing && !run->is_eviction_over && !evictable_.empty();
  if (!may_evict) return line.Find(fits, &place);
  const int64_t may_help = run->failed_bytes == kAlways ? -kAlways : 1 - run->failed_bytes;
  const JobEntry* entry = line.Find(std::min(fits, may_help), &place);
  if (entry == nullptr || entry->value >= fits) return entry;
  // The rest of the line is of no higher priority.
  if (entry->known->job.priority > evictable_.begin()->first) return entry;
  return line.Find(fits, &place);
}

void StandingPlanner::Look(const PendingJob& job, Run* run) {
  KnownDevice* known = BestFor(job, run);
  if (known != nullptr) {
    PlaceOn(job, known, run);
  } else if (!run->is_borrowing && !job.reserved.has_value()) {
    MakeRoom(job, run);
  }
}

StandingPlanner::KnownDevice* StandingPlanner::BestFor(const PendingJob& job, Run* run) {
  const auto find = [&](const DeviceKey& key) -> KnownDevice* {
    auto it = devices_.find(key);
    return it != devices_.end() && Fits(job, it->second->device) ? it->second.get() : nullptr;
  };
  KnownDevice* wanted = job.preferred.has_value() ? find(*job.preferred) : nullptr;
  if (wanted == nullptr && job.reserved.has_value()) wanted = find(job.reserved->device);
  if (wanted != nullptr) return wanted;
  if (!job.reserved.has_value() && run->nowhere.contains(NeedOf(job))) return nullptr;
  decltype(order_)::Position place;
  while (const DeviceEntry* entry = order_.Find(job.memory_bytes, &place)) {
    // For what a job needs beside memory.
    if (Fits(job, entry->known->device)) return entry->known;
    ++place.place;
  }
  if (job.needs != nullptr) NoteMisfits(job, run);
  return nullptr;
}

void StandingPlanner::NoteMisfits(const PendingJob& job, Run* run) const {
  run->nowhere.insert(NeedOf(job));
  decltype(order_)::Position place;
  while (const DeviceEntry* entry = order_.Find(job.memory_bytes, &place)) {
    NoteMisfit(job, entry->known->device, &run->plan.misfits);
    ++place.place;
  }
}

void StandingPlanner::PlaceOn(const PendingJob& job, KnownDevice* known, Run* run) {
  run->plan.placements.push_back({job.id, known->device.key});
  Edit(known, run, [&](DeviceSnapshot* device) { PutOn(job, device); });
  if (!job.reserved.has_value()) {
    CountFor(&run->plan.tenants[job.tenant]);
    return;
  }
  auto held = devices_.find(job.reserved->device);
  if (held == devices_.end()) return;
  Edit(held->second.get(), run, [&](DeviceSnapshot* device) {
    --device->held_seats;
    device->held_bytes -= job.memory_bytes;
  });
  if (held->second.get() == known) return;
  run->failed_bytes = kAlways;
  run->failed_needs.clear();
  run->nowhere.clear();
  run->WakeAt(run->now);
}

void StandingPlanner::MakeRoom(const PendingJob& job, Run* run) {
  if (run->is_eviction_over || job.memory_bytes >= run->failed_bytes) return;
  if (run->failed_needs.contains(NeedOf(job))) return;
  if (evictable_.empty() || evictable_.begin()->first >= job.priority) return;
  // No cheaper choice can come.
  const EvictionCost least = {evictable_.begin()->first, 1};
  KnownDevice* best = nullptr;
  EvictionChoice best_choice;
  for (const auto& [key, known] : devices_) {
    std::optional<EvictionChoice> choice = ChooseVictims(job, known->device, run->now);
    if (!choice.has_value()) continue;
    if (best != nullptr && choice->cost >= best_choice.cost) continue;
    best = known.get();
    best_choice = *std::move(choice);
    if (best_choice.cost <= least) break;
  }
  if (best == nullptr) {
    if (job.needs == nullptr) {
      run->failed_bytes = job.memory_bytes;
    } else {
      run->failed_needs.insert(NeedOf(job));
    }
    return;
  }
  if (run->beneficiaries == limits_.beneficiaries_max) {
    run->is_eviction_over = true;
    run->WakeAt(run->now);
    return;
  }
  ++run->beneficiaries;
  for (size_t victim : best_choice.victims) {
    run->plan.evictions.push_back({best->device.residents[victim].job, best->device.key, job.id});
  }
  Edit(best, run, [&](DeviceSnapshot* device) { Evict(job, best_choice, device); });
  CountFor(&run->plan.tenants[job.tenant]);
}

void StandingPlanner::FindNextEviction(Run* run) const {
  if (priorities_.empty() || evictable_.empty()) return;
  const int32_t highest = priorities_.rbegin()->first;
  if (evictable_.begin()->first >= highest) return;
  for (const auto& [key, known] : devices_) {
    if (!CanMakeRoom(known->device)) continue;
    for (const ResidentTask& task : known->device.residents) {
      const bool is_later = task.evictable_at > run->now;
      if (is_later && MayEvict(highest, task, task.evictable_at)) run->WakeAt(task.evictable_at);
    }
  }
}

PlanNumbers StandingPlanner::Numbers() const {
  PlanNumbers numbers;
  numbers.devices = static_cast<int>(devices_.size());
  numbers.devices_filled = devices_filled_;
  numbers.devices_measured = devices_measured_;
  numbers.devices_quarantined = devices_quarantined_;
  numbers.resident = resident_;
  numbers.resident_limit = resident_limit_;
  if (!budgets_.empty()) {
    numbers.largest_bytes = -budgets_.begin()->first;
    numbers.largest_device = budgets_.begin()->second;
  }
  const int64_t best_bytes = order_.MaxValue();
  if (best_bytes < 0) return numbers;
  numbers.best_free_bytes = best_bytes;
  decltype(order_)::Position place;
  const DeviceKey* first = nullptr;
  while (const DeviceEntry* entry = order_.Find(best_bytes, &place)) {
    if (first == nullptr || entry->known->device.key < *first) first = &entry->known->device.key;
    ++place.place;
  }
  numbers.best_device = *first;
  return numbers;
}

// --- Reads ---

std::optional<StandingPlanner::Place> StandingPlanner::PlaceOf(JobId id,
                                                               const TenantMap& tenants) const {
  auto it = jobs_.find(id);
  if (it == jobs_.end() || !it->second->is_in_line) return std::nullopt;
  const auto limits_of = [&](const std::string& tenant) {
    auto found = tenants.find(tenant);
    return found == tenants.end() ? TenantSnapshot() : found->second;
  };
  const PendingJob& job = it->second->job;
  const Score score = policy_->ScoreJob(job, limits_of(job.tenant));
  Place place{.place = 1, .waiting = 0};
  for (const auto& [tenant, line] : lines_) {
    const TenantSnapshot limits = limits_of(tenant);
    place.waiting += line.size();
    place.place += line.CountBefore([&](const JobEntry& entry) {
      const PendingJob& other = entry.known->job;
      if (other.priority != job.priority) return other.priority > job.priority;
      const Score other_score = policy_->ScoreJob(other, limits);
      return other_score != score ? other_score > score : other.id < job.id;
    });
  }
  return place;
}

const PendingJob* StandingPlanner::FindJob(JobId id) const {
  auto it = jobs_.find(id);
  return it == jobs_.end() ? nullptr : &it->second->job;
}

std::vector<DeviceSnapshot> StandingPlanner::Devices() const {
  std::vector<DeviceSnapshot> devices;
  devices.reserve(devices_.size());
  for (const auto& [key, known] : devices_) devices.push_back(known->device);
  return devices;
}

}  // namespace pipefill
