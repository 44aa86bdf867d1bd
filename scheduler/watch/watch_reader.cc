#include "scheduler/watch/watch_reader.h"

#include <algorithm>
#include <limits>

#include "absl/container/flat_hash_set.h"
#include "common/check.h"

namespace pipefill::scheduler {
namespace {

// Jobs that one call looks at on its walk; most may be filtered out.
constexpr size_t kLooksMax = 4'096;

}  // namespace

bool WatchFilter::TakesId(JobId id) const {
  return jobs.empty() || std::binary_search(jobs.begin(), jobs.end(), id);
}

bool WatchFilter::Takes(const Job& job) const {
  return TakesId(job.id) && (tenant.empty() || job.spec->tenant == tenant);
}

void WatchReader::SkipTo(uint64_t position) {
  if (!is_walking_) position_ = std::max(position_, position);
}

WatchBatch WatchReader::Read(const WatchSlice& slice, size_t jobs_max) {
  CHECK(slice.from == position_);
  WatchBatch batch;
  batch.view = slice.view;
  const bool is_lost = position_ < slice.begin || position_ > slice.end;
  if (cause_.has_value() || is_lost) {
    Reset(slice, &batch);
  } else {
    TakeChanges(slice, jobs_max, &batch);
  }
  if (is_walking_ && !is_walk_done_) Walk(jobs_max, &batch);
  if (!is_synced_ && is_walk_done_ && position_ == slice.end) {
    is_walking_ = false;
    is_synced_ = true;
    batch.is_synced = true;
  }
  if (!is_walking_) batch.position = position_;
  is_resuming_ = false;
  has_more_ = !is_synced_ || position_ < slice.end;
  return batch;
}

void WatchReader::Reset(const WatchSlice& slice, WatchBatch* batch) {
  const WatchResetCause fallen =
      is_resuming_ ? WatchResetCause::kTooOld : WatchResetCause::kDropped;
  batch->reset = cause_.value_or(fallen);
  if (!cause_.has_value() && position_ < slice.begin) batch->dropped = slice.begin - position_;
  cause_ = std::nullopt;
  position_ = slice.end;
  is_walking_ = true;
  is_walk_done_ = false;
  is_synced_ = false;
  walk_ = JobId(1);
}

void WatchReader::TakeChanges(const WatchSlice& slice, size_t jobs_max, WatchBatch* batch) {
  absl::flat_hash_set<JobId> told;
  for (JobId id : slice.ids) {
    if (batch->jobs.size() + batch->gone.size() >= jobs_max) return;
    ++position_;
    const bool is_ahead = is_walking_ && !is_walk_done_ && id >= walk_;
    if (is_ahead || !told.insert(id).second) continue;
    const Job* job = batch->view->jobs.Find(id);
    if (job != nullptr && filter_.Takes(*job)) batch->jobs.push_back(job);
    if (job == nullptr && filter_.TakesId(id)) batch->gone.push_back(id);
  }
}

void WatchReader::Walk(size_t jobs_max, WatchBatch* batch) {
  if (!filter_.jobs.empty()) return WalkNamed(jobs_max, batch);
  const JobTableView& jobs = batch->view->jobs;
  for (size_t looks = 0; looks < kLooksMax && batch->jobs.size() < jobs_max; ++looks) {
    const Job* job = jobs.FindAtOrAbove(walk_);
    if (job == nullptr) {
      is_walk_done_ = true;
      return;
    }
    walk_ = JobId(job->id.value() + 1);
    if (filter_.is_active_only && IsTerminal(job->phase)) continue;
    if (filter_.Takes(*job)) batch->jobs.push_back(job);
  }
}

void WatchReader::WalkNamed(size_t jobs_max, WatchBatch* batch) {
  auto next = std::lower_bound(filter_.jobs.begin(), filter_.jobs.end(), walk_);
  for (; next != filter_.jobs.end(); ++next) {
    if (batch->jobs.size() + batch->gone.size() >= jobs_max) return;
    walk_ = JobId(next->value() + 1);
    const Job* job = batch->view->jobs.Find(*next);
    if (job == nullptr) {
      batch->gone.push_back(*next);
      continue;
    }
    if (filter_.is_active_only && IsTerminal(job->phase)) continue;
    if (filter_.Takes(*job)) batch->jobs.push_back(job);
  }
  is_walk_done_ = true;
}

}  // namespace pipefill::scheduler
