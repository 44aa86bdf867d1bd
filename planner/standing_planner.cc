#include "planner/standing_planner.h"

#include "planner/plan_run.h"

namespace pipefill {

void StandingPlanner::SetPolicy(const Policy& policy) {
  policy_ = &policy;
  jobs_.SetPolicy(policy);
  devices_.SetPolicy(policy);
}

Plan StandingPlanner::MakePlan(Instant now) {
  jobs_.DropReservations(now, *policy_);  // which puts jobs back among those that may have to wait
  jobs_.Wake(now);
  const PlanInputs inputs = {
      .policy = *policy_, .limits = limits_, .jobs = jobs_, .tenants = tenants_, .now = now};
  return PlanRun(inputs, &devices_).Make();
}

std::optional<StandingPlanner::Place> StandingPlanner::PlaceOf(JobId id,
                                                               const TenantMap& tenants) const {
  const WaitingJobs::Known* known = jobs_.FindInLine(id);
  if (known == nullptr) return std::nullopt;
  const auto limits_of = [&](const std::string& tenant) {
    auto found = tenants.find(tenant);
    return found == tenants.end() ? TenantSnapshot() : found->second;
  };
  const PendingJob& job = known->job;
  const Score score = policy_->ScoreJob(job, limits_of(job.tenant));
  Place place{.place = 1, .waiting = 0};
  for (const auto& [tenant, line] : jobs_.lines()) {
    const TenantSnapshot limits = limits_of(tenant);
    place.waiting += line.size();
    place.place += line.CountBefore(line.EndOf([&](const WaitingJobs::Entry& entry) {
      const PendingJob& other = entry.known->job;
      if (other.priority != job.priority) return other.priority > job.priority;
      const Score other_score = policy_->ScoreJob(other, limits);
      return other_score != score ? other_score > score : other.id < job.id;
    }));
  }
  return place;
}

}  // namespace pipefill
