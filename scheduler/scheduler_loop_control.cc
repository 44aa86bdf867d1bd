// The loop and what users want of jobs that are there; and jobs that start too late.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/status.h"
#include "scheduler/core/admission.h"
#include "scheduler/scheduler_loop.h"

namespace pipefill::scheduler {
namespace {

// Jobs that fail for a late start at a time.
constexpr size_t kLateMax = 10'000;

}  // namespace

void SchedulerLoop::Handle(CancelRequest request) {
  const JobOutcome outcome = Control(request.job, JobVerb::kCancel, "");
  batch_.answers.push_back(
      [answer = std::move(request.answer), result = outcome.refusal] { answer(result); });
}

void SchedulerLoop::Handle(ControlRequest request) {
  std::vector<JobOutcome> outcomes;
  outcomes.reserve(request.jobs.size());
  for (JobId job : request.jobs) outcomes.push_back(Control(job, request.verb, request.reason));
  batch_.answers.push_back(
      [answer = std::move(request.answer), outcomes = std::move(outcomes)] { answer(outcomes); });
}

JobOutcome SchedulerLoop::Control(JobId id, JobVerb verb, const std::string& reason) {
  const absl::StatusOr<const Job*> job = state_.FindJob(id);
  if (!job.ok() && verb == JobVerb::kCancel) return CancelLaterTask(id, job.status());
  if (!job.ok()) return RefusedOutcome(id, job.status());
  JobOutcome outcome = OutcomeOf(**job, verb);
  if (outcome.code != JobOutcome::Code::kDone) return outcome;
  CHECK(Admit(EventOf(verb, id, reason)).ok());
  if (verb == JobVerb::kHold || verb == JobVerb::kRelease) return outcome;
  for (Action& action : ActionsForStop(state_, id)) Order(std::move(action));
  return outcome;
}

JobOutcome SchedulerLoop::CancelLaterTask(JobId id, const absl::Status& not_found) {
  const std::optional<TaskPlace> task = FindTask(state_.jobs(), id);
  if (!task.has_value()) return RefusedOutcome(id, not_found);
  JobOutcome outcome = OutcomeOfLaterCancel(id, *task);
  if (outcome.code == JobOutcome::Code::kDone) CHECK(Admit(CancelRequested{id}).ok());
  return outcome;
}

absl::Status SchedulerLoop::CheckStart(const JobSpec& spec) const {
  return CheckStartsLater(spec, time_.wall);
}

void SchedulerLoop::FailLateStarts() {
  for (JobId id : state_.waiting().LateStarts(time_.wall, kLateMax)) {
    // The end of one before it may have cancelled this one, which depends on it.
    if (!Admit(StartExpired{id}).ok()) continue;
    for (Action& action : ActionsForStop(state_, id)) Order(std::move(action));
  }
}

void SchedulerLoop::ArmStartTimer() {
  const std::optional<absl::Time> next = state_.waiting().NextStartLimit();
  if (!next.has_value()) return;
  // The wall clock may be set meanwhile: forward, then the housekeeping sees it; back, then the
  // timer comes too early, does nothing and is armed again.
  constexpr absl::Duration kFar = absl::Hours(24);
  const absl::Duration wait = *next - dependencies_.clock.WallNow();
  const Instant at = dependencies_.clock.Now() + std::clamp(wait, absl::ZeroDuration(), kFar);
  if (start_timer_ != 0 && start_timer_at_ <= at) return;
  if (start_timer_ != 0) dependencies_.loop.Cancel(start_timer_);
  start_timer_at_ = at;
  start_timer_ = dependencies_.loop.PostAt(at, [this] {
    start_timer_ = 0;
    if (is_waiting()) return;
    time_ = {dependencies_.clock.Now(), dependencies_.clock.WallNow()};
    FailLateStarts();
    if (Commit()) PlanIfDue();
  });
}

}  // namespace pipefill::scheduler
