#include "scheduler/core/waiting_jobs.h"

namespace pipefill::scheduler {

void WaitingJobs::Add(const Job& job) {
  if (job.is_array()) return;
  (job.is_held ? held_ : open_).insert(job.id);
  const std::optional<absl::Time>& limit = job.spec->start_before;
  if (limit.has_value() && !job.has_started()) start_limits_.emplace(*limit, job.id);
}

void WaitingJobs::Remove(const Job& job) {
  open_.erase(job.id);
  held_.erase(job.id);
  if (job.spec->start_before.has_value()) start_limits_.erase({*job.spec->start_before, job.id});
}

std::optional<absl::Time> WaitingJobs::NextStartLimit() const {
  if (start_limits_.empty()) return std::nullopt;
  return start_limits_.begin()->first;
}

std::vector<JobId> WaitingJobs::LateStarts(absl::Time wall, size_t limit) const {
  std::vector<JobId> late;
  for (const auto& [start_before, id] : start_limits_) {
    if (late.size() >= limit || wall < start_before) break;
    late.push_back(id);
  }
  return late;
}

}  // namespace pipefill::scheduler
