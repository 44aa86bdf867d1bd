#include "scheduler/core/job_history.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "scheduler/core/explain.h"

namespace pipefill::scheduler {
namespace {

using Kind = JobStep::Kind;
using Actor = JobStep::Actor;

Kind KindOf(Wish::Kind wish) {
  switch (wish) {
    case Wish::Kind::kHold:
      return Kind::kHeld;
    case Wish::Kind::kRelease:
      return Kind::kReleased;
    case Wish::Kind::kRequeue:
      return Kind::kRequeueRequested;
    case Wish::Kind::kMove:
      return Kind::kMoveRequested;
    case Wish::Kind::kCancel:
      return Kind::kCancelRequested;
  }
  return Kind::kCancelRequested;
}

// Whether somebody had the attempt stopped.
bool WasStopped(const Job& job, const Attempt& attempt) {
  if (attempt.evicted_for.has_value() || attempt.is_requeued) return true;
  return std::any_of(job.wishes.begin(), job.wishes.end(), [&](const Wish& wish) {
    const bool stops = wish.kind == Wish::Kind::kMove || wish.kind == Wish::Kind::kCancel;
    return stops && wish.attempt == attempt.number;
  });
}

JobStep AttemptEndStep(const Job& job, const Attempt& attempt) {
  JobStep step{.at = *attempt.ended_at,
               .kind = Kind::kAttemptEnded,
               .actor = Actor::kAgent,
               .node = attempt.device.node,
               .attempt = attempt.number,
               .text = ExplainEnd(attempt.end)};
  // An agent that is lost does not say so.
  if (attempt.end.cause == EndCause::kLost && !WasStopped(job, attempt)) {
    step.actor = Actor::kScheduler;
    step.node.clear();
  }
  return step;
}

// Why the job waits again after that attempt.
std::string RequeueText(const Attempt& attempt) {
  if (attempt.end.cause == EndCause::kRefused) return "its node did not take it";
  if (attempt.end.cause == EndCause::kLost || attempt.end.cause == EndCause::kCancelled) {
    return "the attempt uses up no retry";
  }
  return "it may be tried again";
}

void AddAttempt(const Job& job, const Attempt& attempt, std::vector<JobStep>* steps) {
  steps->push_back({.at = attempt.placed_at,
                    .kind = Kind::kPlaced,
                    .actor = Actor::kScheduler,
                    .attempt = attempt.number,
                    .text = absl::StrCat("on ", attempt.device.node, "/", attempt.device.name)});
  if (attempt.started_at.has_value()) {
    steps->push_back({.at = *attempt.started_at,
                      .kind = Kind::kStarted,
                      .actor = Actor::kAgent,
                      .node = attempt.device.node,
                      .attempt = attempt.number});
  }
  if (!attempt.ended_at.has_value()) return;
  steps->push_back(AttemptEndStep(job, attempt));
  const bool is_last = &attempt == &job.attempts.back();
  // Or else the job is over with it, or was over before it could be tried again.
  const bool waits_again = !is_last || !IsTerminal(job.phase) || *job.ended_at > *attempt.ended_at;
  if (!waits_again) return;
  steps->push_back({.at = *attempt.ended_at,
                    .kind = Kind::kRequeued,
                    .actor = Actor::kScheduler,
                    .attempt = attempt.number,
                    .text = RequeueText(attempt)});
}

JobStep EndStep(const Job& job) {
  JobStep step{.at = *job.ended_at, .actor = Actor::kScheduler, .text = ExplainJobEnd(job)};
  step.kind = job.phase == JobPhase::kSucceeded ? Kind::kSucceeded
              : job.phase == JobPhase::kFailed  ? Kind::kFailed
                                                : Kind::kCancelled;
  return step;
}

}  // namespace

std::vector<JobStep> HistoryOf(const Job& job) {
  std::vector<JobStep> steps = {{.at = job.submitted_at, .kind = Kind::kSubmitted}};
  if (job.spec->is_held && !job.is_task()) {
    steps.push_back(
        {.at = job.submitted_at, .kind = Kind::kHeld, .text = "since it was submitted"});
  }
  for (const Wish& wish : job.wishes) {
    JobStep step{.at = wish.at, .kind = KindOf(wish.kind), .attempt = wish.attempt};
    step.text = wish.kind == Wish::Kind::kMove ? absl::StrCat("to ", wish.text) : wish.text;
    steps.push_back(std::move(step));
  }
  for (const Attempt& attempt : job.attempts) AddAttempt(job, attempt, &steps);
  if (IsTerminal(job.phase)) steps.push_back(EndStep(job));
  // Wishes, attempts and the end are each in their order already.
  std::stable_sort(steps.begin(), steps.end(),
                   [](const JobStep& a, const JobStep& b) { return a.at < b.at; });
  return steps;
}

}  // namespace pipefill::scheduler
