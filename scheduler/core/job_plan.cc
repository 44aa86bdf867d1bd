#include "scheduler/core/job_plan.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "planner/planner.h"
#include "planner/standing_planner.h"
#include "scheduler/core/admission.h"
#include "scheduler/core/job_ties.h"
#include "scheduler/core/planner_input.h"
#include "scheduler/core/profile_book.h"

namespace pipefill::scheduler {
namespace {

// The job must be looked at, however many are placed before it.
constexpr PlanLimits kWholePlan{.placements_max = std::numeric_limits<int>::max()};

// What the jobs of a view tell.
struct JobsSeen {
  std::vector<PendingJob> waiting;
  LiveByNode live;
  ProfileBook profiles{16};  // that the job may go by
};

// `at` on the clock that decides.
Instant InstantOf(absl::Time at, const EventTime& time) { return time.now + (at - time.wall); }

void SeeProfile(const Job& job, ProfileBook* profiles) {
  if (!job.spec->profile.configurations.empty()) return profiles->OnGiven(job);
  const bool is_learned = job.profile.is_learned || job.profile.profile->configurations.empty();
  const bool has_ended = !job.attempts.empty() && job.attempts.back().state == AttemptState::kEnded;
  if (is_learned && has_ended) profiles->OnLearned(job);
}

JobsSeen SeeJobs(const JobTableView& jobs, const JobSpec& spec, const EventTime& time) {
  JobsSeen seen;
  const Job* job = jobs.FindAtOrAbove(JobId(1));
  for (; job != nullptr; job = jobs.FindAtOrAbove(JobId(job->id.value() + 1))) {
    if (MayShareProfile(spec, *job->spec)) SeeProfile(*job, &seen.profiles);
    if (HasLiveAttempt(job->phase)) {
      const Attempt& attempt = job->live_attempt();
      const absl::Time started_at = attempt.started_at.value_or(time.wall);
      seen.live[attempt.device.node].Add(
          LiveAttemptOf(*job, InstantOf(started_at + job->spec->min_runtime, time)));
    }
    const bool is_open = job->phase == JobPhase::kPending && !job->is_held;
    if (is_open && IsInLine(jobs, *job)) seen.waiting.push_back(PlannedJob(*job, time));
  }
  return seen;
}

TenantMap TenantsOf(const std::vector<TenantUse>& uses) {
  TenantMap tenants;
  for (const TenantUse& use : uses) {
    tenants[use.limits.name] = {.weight = use.limits.weight,
                                .used_seconds = use.used_seconds,
                                .resident = use.resident,
                                .resident_max = use.limits.resident_max,
                                .may_borrow = use.limits.may_borrow};
  }
  return tenants;
}

Job JobAsAccepted(const JobSpec& spec, JobId id, const ProfileBook& profiles, absl::Time wall) {
  Job job;
  job.id = id;
  JobSpec one = spec;
  one.array = std::nullopt;
  one.is_held = false;
  job.spec = std::make_shared<const JobSpec>(std::move(one));
  job.memory_bytes = spec.memory_bytes;
  job.submitted_at = wall;
  job.profile = profiles.ProfileFor(spec);
  job.needs = NeedsOf(job.profile);
  return job;
}

std::vector<std::string> NotesOn(const JobSpec& spec, const Job& job, const JobTableView& jobs) {
  std::vector<std::string> notes;
  if (spec.array.has_value()) {
    notes.push_back(absl::StrCat("it is an array of ", spec.array->size(),
                                 " tasks; this is about its first one"));
  }
  if (spec.is_held) notes.push_back("it would be held; this is as if it were not");
  const std::optional<LostDependency> lost = FindLostDependency(jobs, spec);
  const Dependency* open = FindOpenDependency(jobs, job);
  if (lost.has_value()) {
    Job cancelled = job;
    cancelled.lost_dependency = *lost;
    notes.push_back(
        absl::StrCat("it would be cancelled at once: ", ExplainLostDependency(cancelled),
                     "; this is as if it did not depend on it"));
  } else if (open != nullptr) {
    notes.push_back(absl::StrCat("it ", ExplainDependency(jobs, *open), "; this is as if it had"));
  }
  return notes;
}

void ReadDecision(const Plan& plan, JobPlan* to) {
  for (const Placement& placement : plan.placements) {
    if (placement.job == to->job.id) to->device = placement.device;
  }
  for (const Eviction& eviction : plan.evictions) {
    if (eviction.beneficiary != to->job.id) continue;
    to->evicting = eviction.device;
    to->evicted.push_back(eviction.victim);
  }
}

// Why it would wait, or only its place in line.
WaitDetail DetailOf(const JobPlan& plan, const StandingPlanner& planner, const ClusterView& view,
                    Instant now) {
  WaitDetail detail =
      DetailWaiting(planner, *plan.plan, plan.job.id, *view.quarantines, now).value();
  if (!plan.device.has_value() && !plan.evicting.has_value()) return detail;
  WaitDetail place;
  place.need_bytes = detail.need_bytes;
  place.place = detail.place;
  place.waiting = detail.waiting;
  return place;
}

// The first ones, and the chosen one in place of the last of them if it lies behind.
void KeepBest(size_t candidates_max, const std::optional<DeviceKey>& chosen,
              std::vector<PlanCandidate>* candidates) {
  if (candidates->size() <= candidates_max) return;
  const auto end = candidates->begin() + static_cast<std::ptrdiff_t>(candidates_max);
  const auto found = std::find_if(end, candidates->end(), [&](const PlanCandidate& candidate) {
    return candidate.device == chosen;
  });
  if (found != candidates->end() && candidates_max > 0) std::iter_swap(end - 1, found);
  candidates->erase(end, candidates->end());
}

}  // namespace

JobPlanner::JobPlanner(Terms terms, std::unique_ptr<Policy> policy,
                       std::unique_ptr<Policy> fallback)
    : terms_(std::move(terms)), policy_(std::move(policy)), fallback_(std::move(fallback)) {}

absl::Status JobPlanner::Check(const ClusterView& view, const JobSpec& spec,
                               const EventTime& time) const {
  RETURN_IF_ERROR(CheckTies(view.jobs, spec));
  RETURN_IF_ERROR(CheckStartsLater(spec, time.wall));
  // Nothing of what was used matters here.
  TenantTable tenants(terms_.tenants, absl::Hours(1));
  for (const TenantUse& use : view.tenants) tenants.AddPending(use.limits.name, use.pending);
  RETURN_IF_ERROR(tenants.CheckSubmission(spec.tenant));
  const Device* largest = nullptr;
  for (const auto& [name, node] : *view.nodes) {
    for (const Device& device : node->devices) {
      if (largest == nullptr || device.memory_bytes > largest->memory_bytes) largest = &device;
    }
  }
  return CheckFitsLargest(spec, largest);
}

absl::StatusOr<JobPlan> JobPlanner::Make(const ClusterView& view, const JobPlanRequest& request,
                                         const EventTime& time) const {
  RETURN_IF_ERROR(Check(view, request.spec, time));
  JobsSeen seen = SeeJobs(view.jobs, request.spec, time);
  JobPlan result;
  result.job =
      JobAsAccepted(request.spec, JobId(view.jobs.last_id().value() + 1), seen.profiles, time.wall);
  result.notes = NotesOn(request.spec, result.job, view.jobs);

  seen.waiting.push_back(PlannedJob(result.job, time));

  PlanCandidates candidates(view, seen.live, terms_.heard_within, time.now);
  const Policy* policy = view.policy_error.empty() ? policy_.get() : fallback_.get();
  StandingPlanner planner(*policy, kWholePlan);
  planner.SetTenants(TenantsOf(view.tenants));
  for (const DeviceSnapshot& device : candidates.devices()) planner.SetDevice(device);
  for (const PendingJob& job : seen.waiting) planner.SetJob(job);
  auto plan = std::make_shared<const Plan>(planner.MakePlan(time.now));
  if (!plan->error.ok()) {
    policy = fallback_.get();
    planner.SetPolicy(*policy);
    plan = std::make_shared<const Plan>(planner.MakePlan(time.now));
    RETURN_IF_ERROR(plan->error);
  }
  result.plan = plan;
  ReadDecision(*plan, &result);
  result.detail = DetailOf(result, planner, view, time.now);
  candidates.Follow(seen.waiting, *plan, result.job.id);
  const std::optional<DeviceKey> chosen =
      result.device.has_value() ? result.device : result.evicting;
  result.candidates = candidates.Rank({result.job, seen.waiting.back(), *policy, chosen});
  KeepBest(request.candidates_max, chosen, &result.candidates);
  result.candidates_left_out = candidates.stages() - result.candidates.size();
  return result;
}

}  // namespace pipefill::scheduler
