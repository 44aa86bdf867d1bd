#include "cli/words.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "cli/array_text.h"

namespace pipefill {
namespace {

// `name` is what protobuf calls the value; empty if it knows none.
std::string WordOf(const std::string& name, absl::string_view prefix) {
  if (name.empty()) return "unspecified";
  return absl::AsciiStrToLower(absl::StripPrefix(name, prefix));
}

std::string PendingPhrase(v1::PendingReasonCode reason) {
  switch (reason) {
    case v1::PENDING_REASON_NOT_PLANNED_YET:
      return "not planned yet";
    case v1::PENDING_REASON_NO_AGENT:
      return "no agent connected";
    case v1::PENDING_REASON_NO_MAIN_JOB:
      return "no main job to fill";
    case v1::PENDING_REASON_RESIDENT_LIMIT:
      return "all devices are taken";
    case v1::PENDING_REASON_MEMORY:
      return "not enough free memory";
    case v1::PENDING_REASON_NO_BUBBLE_FITS:
      return "its units fit no bubble";
    case v1::PENDING_REASON_BACK_OFF:
      return "waits for its next try";
    case v1::PENDING_REASON_QUOTA:
      return "its tenant is at its limit";
    case v1::PENDING_REASON_INFEASIBLE:
      return "larger than any device";
    case v1::PENDING_REASON_RESERVED:
      return "a place is being made for it";
    case v1::PENDING_REASON_QUARANTINE:
      return "nodes refuse launches";
    case v1::PENDING_REASON_HELD:
      return "held by a user";
    case v1::PENDING_REASON_DEPENDENCY:
      return "waits for another job";
    case v1::PENDING_REASON_ARRAY_THROTTLE:
      return "other tasks of its array come first";
    default:
      return "";
  }
}

}  // namespace

std::string Word(v1::JobState state) { return WordOf(v1::JobState_Name(state), "JOB_STATE_"); }

std::string Word(v1::AttemptState state) {
  return WordOf(v1::AttemptState_Name(state), "ATTEMPT_STATE_");
}

std::string Word(v1::EndCause cause) { return WordOf(v1::EndCause_Name(cause), "END_CAUSE_"); }

std::string Word(v1::PendingReasonCode reason) {
  return WordOf(v1::PendingReasonCode_Name(reason), "PENDING_REASON_");
}

std::string Word(v1::DependencyCondition condition) {
  return WordOf(v1::DependencyCondition_Name(condition), "DEPENDENCY_CONDITION_");
}

std::string Word(v1::FillMode mode) { return WordOf(v1::FillMode_Name(mode), "FILL_MODE_"); }

std::string Word(v1::BubbleClass bubble_class) {
  return WordOf(v1::BubbleClass_Name(bubble_class), "BUBBLE_CLASS_");
}

std::string Word(BubbleClass bubble_class) {
  static_assert(static_cast<int>(BubbleClass::kHead) == v1::BUBBLE_CLASS_HEAD);
  static_assert(static_cast<int>(BubbleClass::kCustom) == v1::BUBBLE_CLASS_CUSTOM);
  return Word(static_cast<v1::BubbleClass>(bubble_class));
}

std::string Word(v1::FillState state) { return WordOf(v1::FillState_Name(state), "FILL_STATE_"); }

std::string Word(v1::BubbleOffer offer) {
  return WordOf(v1::BubbleOffer_Name(offer), "BUBBLE_OFFER_");
}

std::string Word(v1::JobStepKind kind) { return WordOf(v1::JobStepKind_Name(kind), "JOB_STEP_"); }

std::string Word(v1::JobActor actor) { return WordOf(v1::JobActor_Name(actor), "JOB_ACTOR_"); }

std::string Word(v1::JobOutcomeCode outcome) {
  return WordOf(v1::JobOutcomeCode_Name(outcome), "JOB_OUTCOME_");
}

std::string Phrase(v1::FillState state) {
  switch (state) {
    case v1::FILL_STATE_OFF:
      return "off: neither measured nor filled";
    case v1::FILL_STATE_REPORTING:
      return "measured only, never filled";
    case v1::FILL_STATE_PAUSED:
      return "paused";
    case v1::FILL_STATE_PARKED:
      return "parked: its agent does not hear schedulerd";
    case v1::FILL_STATE_LEARNING:
      return "learning its bubbles";
    case v1::FILL_STATE_FILLING:
      return "filling";
    case v1::FILL_STATE_BACKED_OFF:
      return "backed off: cost more than its budget";
    case v1::FILL_STATE_FAILURE:
      return "stands still: its device is one open bubble";
    default:
      return "";
  }
}

std::string Phrase(v1::BubbleOffer offer) {
  switch (offer) {
    case v1::BUBBLE_OFFER_TOO_FEW:
      return "seen too few times";
    case v1::BUBBLE_OFFER_TOO_SHORT:
      return "too short";
    case v1::BUBBLE_OFFER_UNCERTAIN:
      return "length too uncertain";
    case v1::BUBBLE_OFFER_NOT_FILLING:
      return "not filling now";
    default:
      return "";
  }
}

bool IsTerminal(v1::JobState state) {
  return state == v1::JOB_STATE_SUCCEEDED || state == v1::JOB_STATE_FAILED ||
         state == v1::JOB_STATE_CANCELLED;
}

const v1::Attempt* LastAttempt(const v1::Job& job) {
  return job.attempts().empty() ? nullptr : &job.attempts(job.attempts_size() - 1);
}

std::string JobName(const v1::Job& job) {
  if (!job.spec().name().empty()) return job.spec().name();
  if (job.spec().command().empty()) return "";
  const std::string& program = job.spec().command(0);
  return program.substr(program.rfind('/') + 1);
}

std::string JobLabel(const v1::Job& job) {
  if (job.array_id() == 0) return absl::StrCat(job.id());
  return absl::StrCat(job.array_id(), "_", job.array_index());
}

std::string DeviceName(const std::string& node, const std::string& device) {
  return absl::StrCat(node, "/", device);
}

std::string ShortDetail(const v1::Job& job) {
  if (job.state() == v1::JOB_STATE_PENDING) return PendingPhrase(job.pending_reason());
  if (job.state() != v1::JOB_STATE_RUNNING) return job.end_text();
  if (job.has_array()) return ArrayProgress(job.array());
  if (job.cancel_requested()) return "cancel requested";
  const v1::Attempt* attempt = LastAttempt(job);
  if (attempt == nullptr) return "";
  if (attempt->state() == v1::ATTEMPT_STATE_STARTING) return "starting";
  return attempt->number() > 1 ? absl::StrCat("attempt ", attempt->number()) : "";
}

std::string LongDetail(const v1::Job& job) {
  if (job.state() != v1::JOB_STATE_PENDING) {
    return IsTerminal(job.state()) ? job.end_text() : ShortDetail(job);
  }
  return job.pending_text().empty() ? PendingPhrase(job.pending_reason()) : job.pending_text();
}

ExitCode ExitCodeOf(const v1::Job& job) {
  switch (job.state()) {
    case v1::JOB_STATE_SUCCEEDED:
      return kExitOk;
    case v1::JOB_STATE_CANCELLED:
      return kExitJobCancelled;
    case v1::JOB_STATE_FAILED: {
      if (job.end_cause() == v1::END_CAUSE_NOT_STARTED) return kExitJobLimit;
      const v1::Attempt* attempt = LastAttempt(job);
      const bool is_lost = attempt != nullptr && attempt->end_cause() == v1::END_CAUSE_LOST;
      return is_lost ? kExitJobLost : kExitJobFailed;
    }
    default:
      return kExitTimedOut;
  }
}

}  // namespace pipefill
