#include "planner/plan_run.h"

#include <algorithm>

#include "planner/eviction.h"
#include "planner/feasibility.h"

namespace pipefill {
namespace {

using Known = KnownDevices::Known;

constexpr int64_t kAlways = WaitingJobs::kAlways;

JobNeed NeedOf(const PendingJob& job) { return {job.needs, job.memory_bytes}; }

}  // namespace

bool PlanRun::HeadAfter::operator()(const Head& a, const Head& b) const {
  if (a.job->priority != b.job->priority) return a.job->priority < b.job->priority;
  if (a.score != b.score) return a.score < b.score;
  return a.job->id > b.job->id;
}

PlanRun::PlanRun(const PlanInputs& inputs, KnownDevices* devices)
    : inputs_(inputs), devices_(*devices) {
  plan_.tenants = inputs.tenants;
  plan_.last_job = inputs.jobs.last_id().value_or(JobId());
}

Plan PlanRun::Make() {
  devices_.SetTime(inputs_.now);
  if (inputs_.jobs.next_wake().has_value()) WakeAt(*inputs_.jobs.next_wake());
  HoldAll();
  EnterTenants();
  for (bool is_borrowing : {false, true}) {
    is_borrowing_ = is_borrowing;
    LookAtAll();
  }
  if (IsFull()) WakeAt(inputs_.now);
  FindNextEviction();
  plan_.numbers = devices_.Numbers();
  devices_.Restore();
  if (inputs_.policy.error().ok()) return std::move(plan_);
  Plan failed;
  failed.error = inputs_.policy.error();
  return failed;
}

bool PlanRun::IsFull() const {
  return static_cast<int>(plan_.placements.size()) >= inputs_.limits.placements_max;
}

void PlanRun::WakeAt(Instant at) { plan_.next_plan = std::min(plan_.next_plan.value_or(at), at); }

void PlanRun::HoldAll() {
  for (JobId id : inputs_.jobs.reserved()) {
    const PendingJob& job = *inputs_.jobs.Find(id);
    WakeAt(job.reserved->until);
    ++plan_.tenants[job.tenant].resident;
    Known* known = devices_.Find(job.reserved->device);
    if (known == nullptr) continue;
    devices_.Try(known, inputs_.policy, [&](DeviceSnapshot* device) { Hold(job, device); });
  }
}

void PlanRun::EnterTenants() {
  const auto& lines = inputs_.jobs.lines();
  for (const auto& [name, line] : lines) plan_.tenants.try_emplace(name);
  // No tenant comes after this: the pointers hold.
  tenants_.reserve(lines.size());
  for (const auto& [name, line] : lines) {
    tenants_.push_back({.limits = &plan_.tenants.at(name), .line = &line});
  }
}

void PlanRun::LookAtAll() {
  if (IsFull()) return;
  for (Tenant& tenant : tenants_) {
    if (is_borrowing_) {
      if (!tenant.full_from.has_value() || !tenant.limits->may_borrow) continue;
      tenant.place = *tenant.full_from;
    }
    PushHead(&tenant);
  }
  while (!heads_.empty() && !IsFull()) {
    const Head head = heads_.top();
    heads_.pop();
    if (IsDue(head)) Look(head);
    if (head.job->reserved.has_value()) seen_reserved_.insert(head.job->id);
    ++head.tenant->place.place;
    PushHead(head.tenant);
  }
}

bool PlanRun::IsDue(const Head& head) const {
  if (head.job->reserved.has_value()) return !seen_reserved_.contains(head.job->id);
  return is_borrowing_ || !head.tenant->limits->is_full();
}

void PlanRun::PushHead(Tenant* tenant) {
  tenant->passed_from = tenant->place;
  const WaitingJobs::Entry* entry = NextEntry(tenant);
  if (entry == nullptr) return;
  const PendingJob& job = entry->known->job;
  heads_.push({inputs_.policy.ScoreJob(job, *tenant->limits), &job, tenant});
}

const WaitingJobs::Entry* PlanRun::NextEntry(Tenant* tenant) {
  const WaitingJobs::Line& line = *tenant->line;
  if (!is_borrowing_ && tenant->limits->is_full()) {
    if (!tenant->full_from.has_value()) tenant->full_from = tenant->place;
    return line.Find(kAlways, &tenant->place);
  }
  const int64_t fits = -std::max<int64_t>(devices_.best_free_bytes(), -1);
  const std::optional<int32_t> evictable = devices_.lowest_evictable();
  const bool may_evict = !is_borrowing_ && !is_eviction_over_ && evictable.has_value();
  if (!may_evict) return line.Find(fits, &tenant->place);
  const int64_t may_help = failed_bytes_ == kAlways ? -kAlways : 1 - failed_bytes_;
  const WaitingJobs::Entry* entry = line.Find(std::min(fits, may_help), &tenant->place);
  if (entry == nullptr || entry->value >= fits) return entry;
  // The rest of the line is of no higher priority.
  if (entry->priority > *evictable) return entry;
  return line.Find(fits, &tenant->place);
}

void PlanRun::Look(const Head& head) {
  Known* known = BestFor(*head.job);
  if (known != nullptr) {
    PlaceOn(head, known);
  } else if (!is_borrowing_ && !head.job->reserved.has_value()) {
    MakeRoom(head);
  }
}

Known* PlanRun::BestFor(const PendingJob& job) {
  const auto find = [&](const DeviceKey& key) -> Known* {
    Known* known = devices_.Find(key);
    return known != nullptr && Fits(job, known->device) ? known : nullptr;
  };
  Known* wanted = job.preferred.has_value() ? find(*job.preferred) : nullptr;
  if (wanted == nullptr && job.reserved.has_value()) wanted = find(job.reserved->device);
  if (wanted != nullptr) return wanted;
  if (job.needs != nullptr && !job.reserved.has_value() && nowhere_.contains(NeedOf(job))) {
    return nullptr;
  }
  KnownDevices::Order::Position place;
  while (Known* known = devices_.FindFree(job.memory_bytes, &place)) {
    // For what a job needs beside memory.
    if (Fits(job, known->device)) return known;
    ++place.place;
  }
  if (job.needs != nullptr) NoteMisfits(job);
  return nullptr;
}

void PlanRun::NoteMisfits(const PendingJob& job) {
  nowhere_.insert(NeedOf(job));
  KnownDevices::Order::Position place;
  while (const Known* known = devices_.FindFree(job.memory_bytes, &place)) {
    NoteMisfit(job, known->device, &plan_.misfits);
    ++place.place;
  }
}

void PlanRun::PlaceOn(const Head& head, Known* known) {
  const PendingJob& job = *head.job;
  plan_.placements.push_back({job.id, known->device.key});
  devices_.Try(known, inputs_.policy, [&](DeviceSnapshot* device) { PutOn(job, device); });
  if (!job.reserved.has_value()) {
    CountFor(head.tenant->limits);
    return;
  }
  Known* held = devices_.Find(job.reserved->device);
  if (held == nullptr) return;
  devices_.Try(held, inputs_.policy, [&](DeviceSnapshot* device) {
    --device->held_seats;
    device->held_bytes -= job.memory_bytes;
  });
  if (held == known) return;
  LookAgainBehind(head);
  // Those before it may have it, too.
  WakeAt(inputs_.now);
}

void PlanRun::LookAgainBehind(const Head& head) {
  failed_bytes_ = kAlways;
  failed_needs_.clear();
  nowhere_.clear();
  heads_ = {};
  for (Tenant& tenant : tenants_) {
    if (&tenant == head.tenant) continue;  // its next head is not chosen yet
    const auto behind = tenant.line->EndOf([&](const WaitingJobs::Entry& entry) {
      const PendingJob& job = entry.known->job;
      return HeadAfter()(head, {inputs_.policy.ScoreJob(job, *tenant.limits), &job, &tenant});
    });
    tenant.place = std::max(tenant.passed_from, behind);
    PushHead(&tenant);
  }
}

void PlanRun::MakeRoom(const Head& head) {
  const PendingJob& job = *head.job;
  if (is_eviction_over_ || job.memory_bytes >= failed_bytes_) return;
  if (job.needs != nullptr && failed_needs_.contains(NeedOf(job))) return;
  const std::optional<int32_t> evictable = devices_.lowest_evictable();
  if (!evictable.has_value() || *evictable >= job.priority) return;
  // No cheaper choice can come.
  const EvictionCost least = {*evictable, 1};
  Known* best = nullptr;
  EvictionChoice best_choice;
  for (const auto& [key, known] : devices_.by_key()) {
    std::optional<EvictionChoice> choice = ChooseVictims(job, known->device, inputs_.now);
    if (!choice.has_value()) continue;
    if (best != nullptr && choice->cost >= best_choice.cost) continue;
    best = known.get();
    best_choice = *std::move(choice);
    if (best_choice.cost <= least) break;
  }
  if (best == nullptr) {
    if (job.needs == nullptr) {
      failed_bytes_ = job.memory_bytes;
    } else {
      failed_needs_.insert(NeedOf(job));
    }
    return;
  }
  if (beneficiaries_ == inputs_.limits.beneficiaries_max) {
    is_eviction_over_ = true;
    WakeAt(inputs_.now);
    return;
  }
  ++beneficiaries_;
  for (size_t victim : best_choice.victims) {
    plan_.evictions.push_back({best->device.residents[victim].job, best->device.key, job.id});
  }
  const int64_t free_bytes = best->free_bytes;
  devices_.TryEviction(best, inputs_.policy, job, best_choice);
  CountFor(head.tenant->limits);
  // Where a seat was kept already, what will be free may be enough for that.
  if (best->free_bytes > free_bytes) LookAgainBehind(head);
}

void PlanRun::FindNextEviction() {
  const std::optional<int32_t> highest = inputs_.jobs.highest_priority();
  if (!highest.has_value()) return;
  const std::optional<Instant> next = devices_.NextEvictable(*highest);
  if (next.has_value()) WakeAt(*next);
}

}  // namespace pipefill
