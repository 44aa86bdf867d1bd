#include "scheduler/core/job_control.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"

namespace pipefill::scheduler {
namespace {

JobInput InputOf(JobVerb verb) {
  switch (verb) {
    case JobVerb::kCancel:
      return JobInput::kCancelRequested;
    case JobVerb::kHold:
      return JobInput::kHeld;
    case JobVerb::kRelease:
      return JobInput::kReleased;
    case JobVerb::kRequeue:
      return JobInput::kRequeueRequested;
  }
  return JobInput::kCancelRequested;
}

// "cancel", "hold", ... for a refusal.
absl::string_view WishName(JobInput wish) {
  switch (wish) {
    case JobInput::kHeld:
      return "hold";
    case JobInput::kReleased:
      return "release";
    case JobInput::kRequeueRequested:
      return "requeue";
    default:
      return "cancel";
  }
}

std::string PhaseText(JobPhase phase) {
  if (phase == JobPhase::kStopping) return "is being cancelled";
  if (phase == JobPhase::kCancelled) return "was cancelled";
  if (IsTerminal(phase)) return absl::StrCat("has already ", PhaseName(phase));
  return absl::StrCat("is ", PhaseName(phase));
}

// "attempt 2 on a/cpu0 is being stopped". REQUIRES: the job has a live attempt.
std::string StoppingText(const Job& job) {
  const Attempt& attempt = job.live_attempt();
  return absl::StrCat("attempt ", attempt.number.value(), " on ", attempt.device.node, "/",
                      attempt.device.name, " is being stopped");
}

// Why the verb would change nothing; empty if it would.
std::string WhyUnchanged(const Job& job, JobVerb verb) {
  switch (verb) {
    case JobVerb::kCancel:
      if (job.phase == JobPhase::kCancelled) return "was cancelled before";
      if (job.is_array() && !IsTerminal(job.phase) && job.is_cancel_requested) {
        return "is being cancelled already";
      }
      return job.phase == JobPhase::kStopping ? "is being cancelled already" : "";
    case JobVerb::kHold:
      return !IsTerminal(job.phase) && job.is_held ? "is held already" : "";
    case JobVerb::kRelease:
      return !IsTerminal(job.phase) && !job.is_held ? "is not held" : "";
    case JobVerb::kRequeue:
      if (job.is_array()) return "";
      if (job.phase == JobPhase::kPending) return "waits already";
      if (job.phase == JobPhase::kStopping || !HasLiveAttempt(job.phase)) return "";
      return job.is_leaving() ? "is being stopped already, and waits then" : "";
  }
  return "";
}

// What the verb does, if it does something.
std::string DoneText(const Job& job, JobVerb verb) {
  const bool is_live = HasLiveAttempt(job.phase);
  switch (verb) {
    case JobVerb::kCancel:
      if (job.is_array() && job.tasks->in_flight() > job.tasks->waiting()) {
        return "is being cancelled: its tasks are being stopped";
      }
      return is_live ? absl::StrCat("is being cancelled: ", StoppingText(job)) : "cancelled";
    case JobVerb::kHold:
      if (!is_live) return "held";
      return absl::StrCat("runs on, and is held once it waits again; `pipefill requeue ",
                          job.id.value(), "` stops it now");
    case JobVerb::kRelease:
      return is_live ? "runs on, and is not held when it waits again" : "released";
    case JobVerb::kRequeue:
      return absl::StrCat("is being requeued: ", StoppingText(job),
                          job.is_held ? ", and the job is held then" : "");
  }
  return "";
}

}  // namespace

absl::Status CheckWish(const Job& job, JobInput wish) {
  if (NextPhase(job.phase, wish).has_value()) return absl::OkStatus();
  const std::string subject = absl::StrCat("job ", job.id.value(), " ", PhaseText(job.phase));
  if (wish == JobInput::kRequeueRequested && job.is_array() && !IsTerminal(job.phase)) {
    return absl::FailedPreconditionError(
        absl::StrCat("job ", job.id.value(), " is an array; requeue its tasks"));
  }
  if (wish == JobInput::kRequeueRequested && IsTerminal(job.phase)) {
    return absl::FailedPreconditionError(
        absl::StrCat(subject, ", and what is over stays so; `pipefill submit --again ",
                     job.id.value(), "` submits the same as a new job"));
  }
  return absl::FailedPreconditionError(
      absl::StrCat(subject, "; there is nothing to ", WishName(wish)));
}

JobOutcome OutcomeOf(const Job& job, JobVerb verb) {
  JobOutcome outcome{.job = job.id, .code = JobOutcome::Code::kUnchanged, .phase = job.phase};
  outcome.text = WhyUnchanged(job, verb);
  if (!outcome.text.empty()) return outcome;
  const JobInput wish = InputOf(verb);
  const absl::Status checked = CheckWish(job, wish);
  if (!checked.ok()) {
    outcome = RefusedOutcome(job.id, checked);
    outcome.phase = job.phase;
    return outcome;
  }
  outcome.code = JobOutcome::Code::kDone;
  outcome.text = DoneText(job, verb);
  outcome.phase = *NextPhase(job.phase, wish);
  // It goes on until its tasks have stopped.
  if (job.is_array() && job.tasks->in_flight() > job.tasks->waiting()) outcome.phase = job.phase;
  return outcome;
}

JobOutcome RefusedOutcome(JobId job, const absl::Status& why) {
  CHECK(!why.ok());
  return {.job = job,
          .code = JobOutcome::Code::kRefused,
          .text = std::string(why.message()),
          .refusal = why};
}

Event EventOf(JobVerb verb, JobId job, absl::string_view reason) {
  switch (verb) {
    case JobVerb::kHold:
      return JobHeld{job, std::string(reason)};
    case JobVerb::kRelease:
      return JobReleased{job, std::string(reason)};
    case JobVerb::kRequeue:
      return RequeueRequested{job, std::string(reason)};
    case JobVerb::kCancel:
      break;
  }
  return CancelRequested{job, std::string(reason)};
}

}  // namespace pipefill::scheduler
