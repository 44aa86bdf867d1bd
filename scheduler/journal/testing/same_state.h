// Whether two states are the same as far as they are durable.
//
// Pure.
#ifndef SCHEDULER_JOURNAL_TESTING_SAME_STATE_H_
#define SCHEDULER_JOURNAL_TESTING_SAME_STATE_H_

#include <rapidcheck.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/core/cluster_state.h"
#include "scheduler/core/work_left.h"

namespace pipefill::scheduler {

// The job without what is not durable.
inline Job DurablePartOf(const Job& job) {
  Job durable = job;
  // Equal specs, of which each state has its own copy; compared by the caller.
  durable.spec = nullptr;
  // Follows from the profile.
  durable.needs = nullptr;
  // A restart begins the wait anew: only whether it waits is the same.
  if (durable.not_before.has_value()) durable.not_before = Instant();
  if (durable.reserved.has_value()) durable.reserved->until = Instant();
  for (Attempt& attempt : durable.attempts) {
    const FillProgress& known = attempt.progress;
    const FillProgress kept = {.units = known.units,
                               .unit_cpu_ns = known.unit_cpu_ns,
                               .unit_estimate_ns = known.unit_estimate_ns};
    attempt.progress = attempt.state == AttemptState::kEnded ? kept : FillProgress();
    attempt.progress_at = Instant();
    attempt.pace = {};
  }
  return durable;
}

inline void CheckSameJob(const Job& a, const Job& b) {
  RC_ASSERT(*a.spec == *b.spec);
  RC_ASSERT(DurablePartOf(a) == DurablePartOf(b));
}

// Tasks on devices and jobs that wait, of tenants with any. What live attempts have used is not
// durable.
inline std::map<std::string, std::pair<int32_t, int64_t>> LoadByTenant(const ClusterState& state,
                                                                       absl::Time wall) {
  std::map<std::string, std::pair<int32_t, int64_t>> loads;
  for (const TenantUse& use : state.tenants().List(wall)) {
    if (use.resident > 0 || use.pending > 0) {
      loads[use.limits.name] = {use.resident, use.pending};
    }
  }
  return loads;
}

// What is kept of the work left, lest it be reckoned for each plan, is what the jobs say.
inline void CheckWorkLeft(const ClusterState& state, const std::vector<std::string>& nodes) {
  for (const std::string& node : nodes) {
    for (const LiveAttempt* attempt : state.LiveAttemptsOf(node).InOrder()) {
      const Job& job = **state.FindJob(attempt->key.job);
      RC_ASSERT(attempt->seconds_left == SecondsLeft(job).value_or(0));
    }
  }
}

// Of `nodes` the live attempts are compared.
inline void CheckSame(ClusterState& a, ClusterState& b, const EventTime& time,
                      const std::vector<std::string>& nodes) {
  RC_ASSERT(a.next_job_id() == b.next_job_id());
  for (JobId id(1); id < a.next_job_id(); id = JobId(id.value() + 1)) {
    const auto job_a = a.FindJob(id);
    const auto job_b = b.FindJob(id);
    RC_ASSERT(job_a.ok() == job_b.ok());
    if (!job_a.ok()) continue;
    CheckSameJob(**job_a, **job_b);
    RC_ASSERT(a.NextAttempt(id) == b.NextAttempt(id));
    if ((*job_a)->key.empty()) continue;
    RC_ASSERT(*b.FindSubmission((*job_a)->key, *(*job_a)->spec) == id);
  }
  RC_ASSERT(*a.main_jobs().Snapshot() == *b.main_jobs().Snapshot());
  RC_ASSERT(a.Durable().last_fence == b.Durable().last_fence);
  RC_ASSERT(a.Durable().tenants == b.Durable().tenants);
  RC_ASSERT(a.Durable().profiles == b.Durable().profiles);
  RC_ASSERT(LoadByTenant(a, time.wall) == LoadByTenant(b, time.wall));
  RC_ASSERT(a.counts().pending == b.counts().pending);
  RC_ASSERT(a.counts().held == b.counts().held);
  RC_ASSERT(a.waiting().NextStartLimit() == b.waiting().NextStartLimit());
  RC_ASSERT(a.waiting().LateStarts(absl::InfiniteFuture(), 100) ==
            b.waiting().LateStarts(absl::InfiniteFuture(), 100));
  RC_ASSERT(a.counts().running == b.counts().running);
  RC_ASSERT(a.counts().ended == b.counts().ended);
  RC_ASSERT(a.ExpiredJobs(absl::InfiniteFuture(), 100) ==
            b.ExpiredJobs(absl::InfiniteFuture(), 100));
  RC_ASSERT(a.counts().arrays == b.counts().arrays);
  RC_ASSERT(a.DueTasks(100) == b.DueTasks(100));
  RC_ASSERT(a.Snapshot(time).pending.size() == b.Snapshot(time).pending.size());
  CheckWorkLeft(a, nodes);
  CheckWorkLeft(b, nodes);
  for (const std::string& node : nodes) {
    const std::vector<const LiveAttempt*> live_a = a.LiveAttemptsOf(node).InOrder();
    const std::vector<const LiveAttempt*> live_b = b.LiveAttemptsOf(node).InOrder();
    RC_ASSERT(live_a.size() == live_b.size());
    for (size_t i = 0; i < live_a.size(); ++i) {
      RC_ASSERT(live_a[i]->key == live_b[i]->key);
      RC_ASSERT(live_a[i]->device == live_b[i]->device);
      RC_ASSERT(live_a[i]->memory_bytes == live_b[i]->memory_bytes);
      RC_ASSERT(live_a[i]->is_started == live_b[i]->is_started);
      RC_ASSERT(live_a[i]->is_leaving == live_b[i]->is_leaving);
      RC_ASSERT(live_a[i]->priority == live_b[i]->priority);
      RC_ASSERT(live_a[i]->may_be_evicted == live_b[i]->may_be_evicted);
    }
  }
}

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_JOURNAL_TESTING_SAME_STATE_H_
