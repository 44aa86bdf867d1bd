// Where and when a job would run, were it submitted now: the next plan, made of a published view
// with that job in it, and what the job would do in each stage of each main job.
//
//   view --> what the planner is told --+--> StandingPlanner --> a placement, an eviction, a reason
//            the job, as accepted ------+--> stage by stage ---> a forecast, or a reason
//
// What a view does not tell is known roughly: since when tasks run, from the wall clock; profiles
// of other jobs, from the jobs in the history, the newest first.
//
// Pure.
#ifndef SCHEDULER_CORE_JOB_PLAN_H_
#define SCHEDULER_CORE_JOB_PLAN_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "planner/plan.h"
#include "planner/policy.h"
#include "scheduler/core/event.h"
#include "scheduler/core/job.h"
#include "scheduler/core/plan_candidates.h"
#include "scheduler/core/tenant_table.h"
#include "scheduler/core/view.h"
#include "scheduler/core/why.h"

namespace pipefill::scheduler {

struct JobPlanRequest {
  JobSpec spec;
  size_t candidates_max = 10;
};

struct JobPlan {
  Job job;  // as it would be accepted; its id is not given to it
  // With it in line. It would be placed, or have others evicted, or it would wait.
  std::shared_ptr<const Plan> plan;
  std::optional<DeviceKey> device;
  std::optional<DeviceKey> evicting;
  std::vector<JobId> evicted;
  WaitDetail detail;                      // why it would wait, if it would; and its place in line
  std::vector<PlanCandidate> candidates;  // best first
  size_t candidates_left_out = 0;
  std::vector<std::string> notes;
};

// Thread-safe, if the makers of its policies are.
class JobPlanner {
 public:
  struct Terms {
    std::vector<TenantLimits> tenants;  // as configured
    // Connected nodes are given jobs while they were heard of within this time.
    absl::Duration heard_within;
  };
  // Never null.
  using PolicyMaker = std::function<std::unique_ptr<Policy>()>;

  // Each plan has policies of its own: one that the values of a job make fail has failed for good.
  // The fallback is for when the policy has failed, here or where plans are carried out.
  JobPlanner(Terms terms, PolicyMaker make_policy, PolicyMaker make_fallback);

  // The codes of a submission, whose `spec` would be refused. The policy's error, if the fallback
  // fails too.
  absl::StatusOr<JobPlan> Make(const ClusterView& view, const JobPlanRequest& request,
                               const EventTime& time) const;

 private:
  absl::Status Check(const ClusterView& view, const JobSpec& spec, const EventTime& time) const;

  const Terms terms_;
  const PolicyMaker make_policy_;
  const PolicyMaker make_fallback_;
};

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_CORE_JOB_PLAN_H_
