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

// The job must be looked at, however many are placed, or have others evicted, before it.
constexpr PlanLimits kWholePlan{.placements_max = std::numeric_limits<int>::max(),
                                .beneficiaries_max = std::numeric_limits<int>::max()};

// Whose profile a job would go by: of those that tell one, the newest of its content, or else the
// newest of its name.
class ProfileSearch {
 public:
  // `spec` outlives it.
  explicit ProfileSearch(const JobSpec& spec)
      : spec_(spec), is_over_(!spec.profile.configurations.empty()) {}

  // The newest job first.
  void See(const Job& job) {
    if (is_over_) return;
    if (HasSameContent(spec_, *job.spec)) {
      is_over_ = Note(job, &of_content_);
    } else if (of_name_.empty() && HasSameName(spec_, *job.spec)) {
      Note(job, &of_name_);
    }
  }

  JobProfile Profile() const {
    return (of_content_.empty() ? of_name_ : of_content_).ProfileFor(spec_);
  }

 private:
  // Whether the job tells a profile.
  static bool Note(const Job& job, ProfileBook* book) {
    if (!job.spec->profile.configurations.empty()) {
      book->OnGiven(job);
    } else if (GoesByLearned(job) && HasEnded(job)) {
      book->OnLearned(job);
    }
    return !book->empty();
  }
  static bool GoesByLearned(const Job& job) {
    return job.profile.is_learned || job.profile.profile->configurations.empty();
  }
  static bool HasEnded(const Job& job) {
    return !job.attempts.empty() && job.attempts.back().state == AttemptState::kEnded;
  }

  const JobSpec& spec_;
  bool is_over_;
  ProfileBook of_content_{1};
  ProfileBook of_name_{1};
};

// What the jobs of a view tell.
struct JobsSeen {
  std::vector<PendingJob> waiting;  // in the order of their ids
  LiveByNode live;
  JobProfile profile;  // that the job would have
};

// `at` on the clock that decides.
Instant InstantOf(absl::Time at, const EventTime& time) { return time.now + (at - time.wall); }

JobsSeen SeeJobs(const JobTableView& jobs, const JobSpec& spec, const EventTime& time) {
  JobsSeen seen;
  ProfileSearch search(spec);
  const Job* job = jobs.FindAtOrBelow(jobs.last_id());
  for (; job != nullptr; job = jobs.FindAtOrBelow(JobId(job->id.value() - 1))) {
    search.See(*job);
    if (HasLiveAttempt(job->phase)) {
      const Attempt& attempt = job->live_attempt();
      const absl::Time started_at = attempt.started_at.value_or(time.wall);
      seen.live[attempt.device.node].Add(
          LiveAttemptOf(*job, InstantOf(started_at + job->spec->min_runtime, time)));
    }
    const bool is_open = job->phase == JobPhase::kPending && !job->is_held;
    if (is_open && IsInLine(jobs, *job)) seen.waiting.push_back(PlannedJob(*job, time));
  }
  std::reverse(seen.waiting.begin(), seen.waiting.end());
  seen.profile = search.Profile();
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

Job JobAsAccepted(const JobSpec& spec, JobId id, const JobProfile& profile, absl::Time wall) {
  Job job;
  job.id = id;
  JobSpec one = spec;
  one.array = std::nullopt;
  one.is_held = false;
  job.spec = std::make_shared<const JobSpec>(std::move(one));
  job.memory_bytes = spec.memory_bytes;
  job.submitted_at = wall;
  job.profile = profile;
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

// What a plan is made of, whatever the policy.
struct PlanInputs {
  const ClusterView& view;
  const JobsSeen& seen;  // the job waits, too
  absl::Duration heard_within;
  size_t candidates_max = 0;
  EventTime time;
};

// `plan` has the job, and is given the rest. The policy's error.
absl::Status FillPlan(const PlanInputs& inputs, const Policy& policy, JobPlan* plan) {
  const ClusterView& view = inputs.view;
  const Instant now = inputs.time.now;
  PlanCandidates candidates(view, inputs.seen.live, inputs.heard_within, now);
  StandingPlanner planner(policy, kWholePlan);
  planner.SetTenants(TenantsOf(view.tenants));
  for (const DeviceSnapshot& device : candidates.devices()) planner.SetDevice(device);
  for (const PendingJob& job : inputs.seen.waiting) planner.SetJob(job);
  plan->plan = std::make_shared<const Plan>(planner.MakePlan(now));
  RETURN_IF_ERROR(plan->plan->error);
  ReadDecision(*plan->plan, plan);
  plan->detail = DetailOf(*plan, planner, view, now);
  candidates.Follow(inputs.seen.waiting, *plan->plan, plan->job.id);
  const std::optional<DeviceKey> chosen = plan->device.has_value() ? plan->device : plan->evicting;
  plan->candidates = candidates.Rank({plan->job, inputs.seen.waiting.back(), policy, chosen});
  KeepBest(inputs.candidates_max, chosen, &plan->candidates);
  plan->candidates_left_out = candidates.stages() - plan->candidates.size();
  // Devices are scored once more for it.
  return policy.error();
}

}  // namespace

JobPlanner::JobPlanner(Terms terms, PolicyMaker make_policy, PolicyMaker make_fallback)
    : terms_(std::move(terms)),
      make_policy_(std::move(make_policy)),
      make_fallback_(std::move(make_fallback)) {}

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
  JobPlan accepted;
  accepted.job =
      JobAsAccepted(request.spec, JobId(view.jobs.last_id().value() + 1), seen.profile, time.wall);
  accepted.notes = NotesOn(request.spec, accepted.job, view.jobs);
  seen.waiting.push_back(PlannedJob(accepted.job, time));
  const PlanInputs inputs{view, seen, terms_.heard_within, request.candidates_max, time};

  const std::unique_ptr<Policy> policy = make_policy_();
  std::string error = view.policy_error;
  if (error.empty()) {
    JobPlan plan = accepted;
    const absl::Status status = FillPlan(inputs, *policy, &plan);
    if (status.ok()) return plan;
    error = std::string(status.message());
  }
  const std::unique_ptr<Policy> fallback = make_fallback_();
  RETURN_IF_ERROR(FillPlan(inputs, *fallback, &accepted));
  accepted.notes.push_back(absl::StrCat("policy ", policy->name(), " failed: ", error,
                                        "; this is by ", fallback->name()));
  return accepted;
}

}  // namespace pipefill::scheduler
