#include "planner/waiting_jobs.h"

#include "planner/counts.h"
#include "planner/feasibility.h"

namespace pipefill {

bool WaitingJobs::Before::operator()(const Entry& a, const Entry& b) const {
  if (a.priority != b.priority) return a.priority > b.priority;
  const int order = CompareScores(a.lead, a.known->score, b.lead, b.known->score);
  return order != 0 ? order < 0 : a.id < b.id;
}

WaitingJobs::Entry WaitingJobs::EntryOf(const Known& known) {
  return {.value = known.job.reserved.has_value() ? kAlways : -known.job.memory_bytes,
          .lead = LeadOf(known.score),
          .priority = known.job.priority,
          .id = known.job.id,
          .known = &known};
}

void WaitingJobs::Set(PendingJob job, const Policy& policy) {
  Remove(job.id);
  auto owned = std::make_unique<Known>();
  Known& known = *owned;
  known.score = policy.ScoreJob(job, TenantSnapshot());
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

void WaitingJobs::Remove(JobId id) {
  auto it = jobs_.find(id);
  if (it == jobs_.end()) return;
  const Known& known = *it->second;
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

void WaitingJobs::SetPolicy(const Policy& policy) {
  std::vector<PendingJob> jobs;
  jobs.reserve(ids_.size());
  for (JobId id : ids_) jobs.push_back(jobs_.at(id)->job);
  for (PendingJob& job : jobs) Remove(job.id);
  for (PendingJob& job : jobs) Set(std::move(job), policy);
}

void WaitingJobs::Enter(Known* known) {
  known->is_in_line = true;
  lines_[known->job.tenant].Insert(EntryOf(*known));
}

void WaitingJobs::Wake(Instant now) {
  while (!backing_off_.empty() && backing_off_.begin()->first <= now) {
    const JobId id = backing_off_.begin()->second;
    backing_off_.erase(backing_off_.begin());
    Enter(jobs_.at(id).get());
  }
}

void WaitingJobs::DropReservations(Instant now, const Policy& policy) {
  std::vector<PendingJob> expired;
  for (JobId id : reserved_) {
    const PendingJob& job = jobs_.at(id)->job;
    if (!HasReservation(job, now)) expired.push_back(job);
  }
  for (PendingJob& job : expired) {
    job.reserved = std::nullopt;
    Set(std::move(job), policy);
  }
}

const PendingJob* WaitingJobs::Find(JobId id) const {
  auto it = jobs_.find(id);
  return it == jobs_.end() ? nullptr : &it->second->job;
}

const WaitingJobs::Known* WaitingJobs::FindInLine(JobId id) const {
  auto it = jobs_.find(id);
  return it == jobs_.end() || !it->second->is_in_line ? nullptr : it->second.get();
}

std::optional<Instant> WaitingJobs::next_wake() const {
  if (backing_off_.empty()) return std::nullopt;
  return backing_off_.begin()->first;
}

std::optional<JobId> WaitingJobs::last_id() const {
  if (ids_.empty()) return std::nullopt;
  return *ids_.rbegin();
}

std::optional<int32_t> WaitingJobs::highest_priority() const {
  if (priorities_.empty()) return std::nullopt;
  return priorities_.rbegin()->first;
}

}  // namespace pipefill
