// ClusterState and snapshots of it, and what leaves its history.
#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "scheduler/core/cluster_state.h"
#include "scheduler/core/job_forecast.h"
#include "scheduler/core/planner_input.h"

namespace pipefill::scheduler {
namespace {

absl::Status BadJob(const Job& job, absl::string_view text) {
  return absl::DataLossError(absl::StrCat("job ", job.id.value(), " cannot be: ", text));
}

// A larger id in a snapshot is damage, and would ask for gigabytes of empty table.
constexpr int64_t kIdMax = int64_t{1} << 36;

absl::Status CheckAttempts(const Job& job) {
  if (job.failures < 0) return BadJob(job, "its count of failures is negative");
  Fence last;
  for (size_t i = 0; i < job.attempts.size(); ++i) {
    const Attempt& attempt = job.attempts[i];
    if (attempt.fence <= last) return BadJob(job, "its fences do not grow");
    last = attempt.fence;
    const bool is_last = i + 1 == job.attempts.size();
    const bool is_live = attempt.state != AttemptState::kEnded;
    if (is_live && !(is_last && HasLiveAttempt(job.phase))) {
      return BadJob(job, "an attempt lives that may not");
    }
  }
  const bool is_any_live =
      !job.attempts.empty() && job.attempts.back().state != AttemptState::kEnded;
  if (HasLiveAttempt(job.phase) && !is_any_live) return BadJob(job, "its attempt has ended");
  if (job.is_start_expired && !(job.phase == JobPhase::kFailed && job.spec->start_before)) {
    return BadJob(job, "it has missed a start that it had not to make");
  }
  if (IsTerminal(job.phase) != job.ended_at.has_value()) {
    return BadJob(job, "it has an end without being over, or the other way around");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status JobNotFound(JobId id, JobId last) {
  if (id.value() >= 1 && id <= last) {
    return absl::NotFoundError(absl::StrCat(
        "job ", id.value(), " is not in the history any more; `pipefill jobs` lists what is"));
  }
  return absl::NotFoundError(
      absl::StrCat("job ", id.value(), " not found; `pipefill jobs` lists the known ones"));
}

DurableState ClusterState::Durable() {
  return {.jobs = jobs_.Snapshot(),
          .next_job_id = next_job_id(),
          .last_fence = last_fence_,
          .main_jobs = main_jobs_.Snapshot(),
          .tenants = tenants_.Used(),
          .profiles = profiles_.Records()};
}

absl::Status ClusterState::RestoreJob(Job job, Instant now) {
  if (job.id.value() > kIdMax) return BadJob(job, "no store gives such ids");
  if (job.id <= jobs_.last_id()) return BadJob(job, "jobs are not in the order of their ids");
  RETURN_IF_ERROR(RestoreTies(job));
  RETURN_IF_ERROR(CheckAttempts(job));
  if (HasLiveAttempt(job.phase) &&
      LiveAttemptsOf(job.live_attempt().device.node).Find(job.live_attempt().fence) != nullptr) {
    return BadJob(job, "its fence is that of another job");
  }
  if (!job.key.empty() && !jobs_by_key_.emplace(job.key, job.id).second) {
    return BadJob(job, "its key is that of another job");
  }
  if (job.phase == JobPhase::kPending) {
    waiting_.Add(job);
    tenants_.AddPending(job.spec->tenant, 1);
    changes_.jobs.insert(job.id);
  }
  if (job.ended_at.has_value()) ended_.emplace(*job.ended_at, job.id);
  if (job.not_before.has_value()) {
    const int32_t waits = std::max({job.failures, job.refusals, 1});
    job.not_before = now + BackOffAfter(waits, limits_.back_off);
  }
  if (job.reserved.has_value()) job.reserved->until = now + limits_.eviction_hold;
  if (job.profile.source.empty()) {
    job.profile = {.profile = std::make_shared<const FillProfile>(job.spec->profile)};
  }
  job.needs = NeedsOf(job.profile);
  if (HasLiveAttempt(job.phase)) RestoreLive(job, now);
  if (!job.attempts.empty()) last_fence_ = std::max(last_fence_, job.attempts.back().fence);
  jobs_.Add(std::move(job));
  return absl::OkStatus();
}

void ClusterState::RestoreLive(const Job& job, Instant now) {
  const Attempt& attempt = job.live_attempt();
  live_by_node_[attempt.device.node].Add(LiveAttemptOf(job, now + job.spec->min_runtime));
  tenants_.AddResident(job.spec->tenant, 1);
  changes_.nodes.insert(attempt.device.node);
}

absl::Status ClusterState::RestoreCounters(JobId next_job_id, Fence last_fence) {
  if (next_job_id <= jobs_.last_id() || next_job_id.value() > kIdMax || last_fence < last_fence_) {
    return absl::DataLossError("a job has an id or a fence that was never given");
  }
  RETURN_IF_ERROR(CheckArrays(jobs(), ties_.open_arrays, next_job_id));
  jobs_.SkipTo(JobId(next_job_id.value() - 1));
  last_fence_ = last_fence;
  return absl::OkStatus();
}

std::vector<JobId> ClusterState::ExpiredJobs(absl::Time wall, size_t limit) const {
  std::vector<JobId> expired;
  const absl::btree_set<JobId>& tasks = ties_.history.surplus();
  std::copy_n(tasks.begin(), std::min(limit, tasks.size()), std::back_inserter(expired));
  const absl::Time oldest_kept = wall - limits_.history_keep;
  auto surplus = static_cast<int64_t>(ended_.size()) - limits_.history_jobs_max;
  for (const auto& [ended_at, id] : ended_) {
    const bool is_surplus = surplus-- > 0;
    if (expired.size() >= limit || (!is_surplus && ended_at >= oldest_kept)) break;
    if (!tasks.contains(id)) expired.push_back(id);
  }
  std::sort(expired.begin(), expired.end());
  return expired;
}

}  // namespace pipefill::scheduler
