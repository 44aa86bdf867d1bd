#include "scheduler/watch/watch_log.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "common/check.h"
#include "scheduler/core/explain.h"

namespace pipefill::scheduler {
namespace {

// What an agent's reports change every second.
void DropProgress(Job& job) {
  for (Attempt& attempt : job.attempts) {
    attempt.progress = {};
    attempt.progress_at = {};
    attempt.pace = {};
  }
}

// REQUIRES: not both are nullptr.
bool DiffersBesidesProgress(const Job* before, const Job* after) {
  if (before == nullptr || after == nullptr) return true;
  if (before->phase != after->phase || before->attempts.size() != after->attempts.size()) {
    return true;
  }
  Job a = *before;
  Job b = *after;
  DropProgress(a);
  DropProgress(b);
  return !(a == b);
}

// Also if more than the progress is new: that may have been told with an older progress.
bool HasNewProgress(const Job* before, const Job* after) {
  if (after == nullptr || after->attempts.empty()) return false;
  if (before == nullptr || before->attempts.size() != after->attempts.size()) return true;
  return !(before->attempts.back().progress == after->attempts.back().progress);
}

// nullopt: the job does not wait, or no plan has looked at it.
std::optional<PendingCode> CodeOf(const Job* job, const Plan& plan, Instant now) {
  if (job == nullptr || job->phase != JobPhase::kPending) return std::nullopt;
  const std::optional<PendingReason> reason = ReasonOf(*job, plan, now);
  if (!reason.has_value()) return std::nullopt;
  return reason->code;
}

}  // namespace

void WatchLog::Restart(SharedView view, Instant now) {
  changes_.clear();
  // A position from before lies behind the ring.
  ++end_;
  view_ = std::move(view);
  reasons_view_ = view_;
  reasons_at_ = now;
  progress_view_ = view_;
}

void WatchLog::Stop() {
  changes_.clear();
  view_ = reasons_view_ = progress_view_ = nullptr;
}

std::vector<JobId> WatchLog::Advance(SharedView view) {
  CHECK(view_ != nullptr);
  std::vector<JobId> changed = view->jobs.ChangedSince(view_->jobs);
  const auto is_progress = [&](JobId id) {
    return !DiffersBesidesProgress(view_->jobs.Find(id), view->jobs.Find(id));
  };
  changed.erase(std::remove_if(changed.begin(), changed.end(), is_progress), changed.end());
  view_ = std::move(view);
  Append(changed);
  return changed;
}

std::vector<JobId> WatchLog::AdvanceReasons(Instant now) {
  std::vector<JobId> changed;
  if (reasons_view_ == view_) return changed;
  const JobTableView& jobs = view_->jobs;
  const Job* job = view_->counts.pending > 0 ? jobs.FindAtOrAbove(JobId(1)) : nullptr;
  for (; job != nullptr; job = jobs.FindAtOrAbove(JobId(job->id.value() + 1))) {
    if (job->phase != JobPhase::kPending) continue;
    const Job* before = reasons_view_->jobs.Find(job->id);
    // One that has changed was told with the reason of that moment.
    if (before != job ||
        CodeOf(before, *reasons_view_->plan, reasons_at_) != CodeOf(job, *view_->plan, now)) {
      changed.push_back(job->id);
    }
  }
  reasons_view_ = view_;
  reasons_at_ = now;
  Append(changed);
  return changed;
}

std::vector<JobId> WatchLog::AdvanceProgress() {
  std::vector<JobId> changed = view_->jobs.ChangedSince(progress_view_->jobs);
  const auto is_old = [&](JobId id) {
    return !HasNewProgress(progress_view_->jobs.Find(id), view_->jobs.Find(id));
  };
  changed.erase(std::remove_if(changed.begin(), changed.end(), is_old), changed.end());
  progress_view_ = view_;
  Append(changed);
  return changed;
}

WatchSlice WatchLog::Slice(uint64_t position, size_t limit) const {
  WatchSlice slice = {.begin = begin(), .end = end_, .from = position, .ids = {}, .view = view_};
  if (position < slice.begin || position > end_) return slice;
  const auto first = changes_.begin() + static_cast<ptrdiff_t>(position - slice.begin);
  const size_t count = std::min<size_t>(limit, end_ - position);
  slice.ids.assign(first, first + static_cast<ptrdiff_t>(count));
  return slice;
}

void WatchLog::Append(const std::vector<JobId>& ids) {
  end_ += ids.size();
  // More than fit: only the last ones.
  const size_t kept = std::min(ids.size(), changes_max_);
  while (changes_.size() + kept > changes_max_) changes_.pop_front();
  changes_.insert(changes_.end(), ids.end() - static_cast<ptrdiff_t>(kept), ids.end());
}

}  // namespace pipefill::scheduler
