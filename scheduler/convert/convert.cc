#include "scheduler/convert/convert.h"

#include <optional>
#include <string>

#include "absl/time/time.h"
#include "scheduler/convert/profile.h"
#include "scheduler/core/explain.h"
#include "scheduler/core/tenant_table.h"

namespace pipefill::scheduler {
namespace {

static_assert(static_cast<int>(FillWay::kSdk) == v1::FILL_WAY_SDK);
static_assert(static_cast<int>(FillWay::kProcess) == v1::FILL_WAY_PROCESS);
// Of an agent's lines for people, in bytes.
constexpr size_t kLineMax = 256;

v1::FillMode ToProto(FillMode from) {
  switch (from) {
    case FillMode::kUnknown:
      return v1::FILL_MODE_UNSPECIFIED;
    case FillMode::kOff:
      return v1::FILL_MODE_OFF;
    case FillMode::kReport:
      return v1::FILL_MODE_REPORT;
    case FillMode::kFill:
      return v1::FILL_MODE_FILL;
  }
  return v1::FILL_MODE_UNSPECIFIED;
}

BubbleClass FromProto(v1::BubbleClass from) {
  switch (from) {
    case v1::BUBBLE_CLASS_HEAD:
      return BubbleClass::kHead;
    case v1::BUBBLE_CLASS_MIDDLE:
      return BubbleClass::kMiddle;
    case v1::BUBBLE_CLASS_SCATTERED:
      return BubbleClass::kScattered;
    case v1::BUBBLE_CLASS_TAIL:
      return BubbleClass::kTail;
    case v1::BUBBLE_CLASS_FAILURE:
      return BubbleClass::kFailure;
    case v1::BUBBLE_CLASS_CUSTOM:
      return BubbleClass::kCustom;
    default:
      return BubbleClass::kUnknown;
  }
}

v1::BubbleClass ToProto(BubbleClass from) {
  switch (from) {
    case BubbleClass::kUnknown:
      return v1::BUBBLE_CLASS_UNSPECIFIED;
    case BubbleClass::kHead:
      return v1::BUBBLE_CLASS_HEAD;
    case BubbleClass::kMiddle:
      return v1::BUBBLE_CLASS_MIDDLE;
    case BubbleClass::kScattered:
      return v1::BUBBLE_CLASS_SCATTERED;
    case BubbleClass::kTail:
      return v1::BUBBLE_CLASS_TAIL;
    case BubbleClass::kFailure:
      return v1::BUBBLE_CLASS_FAILURE;
    case BubbleClass::kCustom:
      return v1::BUBBLE_CLASS_CUSTOM;
  }
  return v1::BUBBLE_CLASS_UNSPECIFIED;
}

v1::JobState ToProto(JobPhase phase) {
  switch (phase) {
    case JobPhase::kPending:
      return v1::JOB_STATE_PENDING;
    case JobPhase::kStarting:
    case JobPhase::kRunning:
    case JobPhase::kStopping:
      return v1::JOB_STATE_RUNNING;
    case JobPhase::kSucceeded:
      return v1::JOB_STATE_SUCCEEDED;
    case JobPhase::kFailed:
      return v1::JOB_STATE_FAILED;
    case JobPhase::kCancelled:
      return v1::JOB_STATE_CANCELLED;
  }
  return v1::JOB_STATE_UNSPECIFIED;
}

v1::AttemptState ToProto(AttemptState state) {
  switch (state) {
    case AttemptState::kStarting:
      return v1::ATTEMPT_STATE_STARTING;
    case AttemptState::kRunning:
      return v1::ATTEMPT_STATE_RUNNING;
    case AttemptState::kEnded:
      return v1::ATTEMPT_STATE_ENDED;
  }
  return v1::ATTEMPT_STATE_UNSPECIFIED;
}

v1::PendingReasonCode ToProto(PendingCode code) {
  switch (code) {
    case PendingCode::kBackOff:
      return v1::PENDING_REASON_BACK_OFF;
    case PendingCode::kNoAgent:
      return v1::PENDING_REASON_NO_AGENT;
    case PendingCode::kNoMainJob:
      return v1::PENDING_REASON_NO_MAIN_JOB;
    case PendingCode::kResidentLimit:
      return v1::PENDING_REASON_RESIDENT_LIMIT;
    case PendingCode::kMemory:
      return v1::PENDING_REASON_MEMORY;
    case PendingCode::kQuota:
      return v1::PENDING_REASON_QUOTA;
    case PendingCode::kInfeasible:
      return v1::PENDING_REASON_INFEASIBLE;
    case PendingCode::kReserved:
      return v1::PENDING_REASON_RESERVED;
    case PendingCode::kQuarantine:
      return v1::PENDING_REASON_QUARANTINE;
  }
  return v1::PENDING_REASON_UNSPECIFIED;
}

FillControl FromProto(const v1::FillControl& from) {
  return {.state = v1::FillState_IsValid(from.state()) ? static_cast<FillState>(from.state())
                                                       : FillState::kUnknown,
          .text = from.text(),
          .overrun_ratio = from.overrun_ratio(),
          .slowdown = from.slowdown(),
          .slowdown_low = from.slowdown_low(),
          .slowdown_high = from.slowdown_high(),
          .hold_outs = from.hold_outs(),
          .filled = from.filled(),
          .budget_ppm = from.budget_ppm(),
          .back_offs = from.back_offs(),
          .retry_in_ns = from.retry_in_ns()};
}

v1::FillControl ToProto(const FillControl& from) {
  v1::FillControl to;
  to.set_state(static_cast<v1::FillState>(from.state));
  to.set_text(from.text);
  to.set_overrun_ratio(from.overrun_ratio);
  to.set_slowdown(from.slowdown);
  to.set_slowdown_low(from.slowdown_low);
  to.set_slowdown_high(from.slowdown_high);
  to.set_hold_outs(from.hold_outs);
  to.set_filled(from.filled);
  to.set_budget_ppm(from.budget_ppm);
  to.set_back_offs(from.back_offs);
  to.set_retry_in_ns(from.retry_in_ns);
  return to;
}

MainRank FromProto(const v1::MainRank& from) {
  return {.main_job = from.main_job(),
          .rank = from.rank(),
          .ranks = from.ranks(),
          .stage = from.stage(),
          .stages = from.stages(),
          .pid = from.pid(),
          .mode = scheduler::FromProto(from.mode()),
          .iterations = from.iterations(),
          .iteration_p50_ns = from.iteration_p50_ns(),
          .bubble_ns = from.bubble_ns(),
          .iteration_ns = from.iteration_ns(),
          .events_dropped = from.events_dropped(),
          .control = from.has_control() ? std::optional(FromProto(from.control())) : std::nullopt};
}

v1::MainRank ToProto(const MainRank& from) {
  v1::MainRank to;
  to.set_main_job(from.main_job);
  to.set_rank(from.rank);
  to.set_ranks(from.ranks);
  to.set_stage(from.stage);
  to.set_stages(from.stages);
  to.set_pid(from.pid);
  to.set_mode(ToProto(from.mode));
  to.set_iterations(from.iterations);
  to.set_iteration_p50_ns(from.iteration_p50_ns);
  to.set_bubble_ns(from.bubble_ns);
  to.set_iteration_ns(from.iteration_ns);
  to.set_events_dropped(from.events_dropped);
  if (from.control.has_value()) *to.mutable_control() = ToProto(*from.control);
  return to;
}

int64_t UnixNs(const std::optional<absl::Time>& time) {
  return time.has_value() ? absl::ToUnixNanos(*time) : 0;
}

v1::Attempt ToProto(const Attempt& from) {
  v1::Attempt to;
  to.set_number(from.number.value());
  to.set_fence(from.fence.value());
  to.set_node(from.device.node);
  to.set_device(from.device.name);
  to.set_state(ToProto(from.state));
  if (from.state == AttemptState::kEnded) {
    to.set_end_cause(ToProto(from.end.cause));
    to.set_exit_code(from.end.exit_code);
    to.set_signal(from.end.signal);
    to.set_end_text(ExplainEnd(from.end));
  }
  to.set_placed_unix_ns(absl::ToUnixNanos(from.placed_at));
  to.set_started_unix_ns(UnixNs(from.started_at));
  to.set_ended_unix_ns(UnixNs(from.ended_at));
  *to.mutable_progress() = ToProto(from.progress);
  to.set_configuration(from.configuration);
  return to;
}

}  // namespace

JobSpec FromProto(const v1::JobSpec& from) {
  return {.name = from.name(),
          .command = {from.command().begin(), from.command().end()},
          .env = {from.env().begin(), from.env().end()},
          .workdir = from.workdir(),
          .memory_bytes = from.memory_bytes(),
          .devices = from.devices(),
          .retries = from.retries(),
          .profile = FromProto(from.profile()),
          .way = v1::FillWay_IsValid(from.way()) ? static_cast<FillWay>(from.way())
                                                 : FillWay::kUnspecified,
          .priority = from.priority(),
          .tenant = from.tenant().empty() ? kDefaultTenant : from.tenant(),
          .deadline = from.deadline_unix_ns() == 0
                          ? std::nullopt
                          : std::optional(absl::FromUnixNanos(from.deadline_unix_ns())),
          .min_runtime = absl::Nanoseconds(from.min_runtime_ns()),
          .is_evictable = !from.not_evictable(),
          .may_be_infeasible = from.allow_infeasible()};
}

AttemptKey FromProto(const v1::AttemptKey& from) {
  return {JobId(from.job_id()), AttemptNumber(from.attempt()), Fence(from.fence())};
}

EndCause FromProto(v1::EndCause from) {
  switch (from) {
    case v1::END_CAUSE_EXITED:
      return EndCause::kExited;
    case v1::END_CAUSE_SIGNALLED:
      return EndCause::kSignalled;
    case v1::END_CAUSE_OUT_OF_MEMORY:
      return EndCause::kOutOfMemory;
    case v1::END_CAUSE_LAUNCH_FAILED:
      return EndCause::kLaunchFailed;
    case v1::END_CAUSE_CANCELLED:
      return EndCause::kCancelled;
    case v1::END_CAUSE_LOST:
      return EndCause::kLost;
    case v1::END_CAUSE_REFUSED:
      return EndCause::kRefused;
    default:
      return EndCause::kUnknown;
  }
}

FillProgress FromProto(const v1::FillProgress& from) {
  return {.units = from.units(),
          .unit_cpu_ns = from.unit_cpu_ns(),
          .unit_cpu_in_bubble_ns = from.unit_cpu_in_bubble_ns(),
          .overrun_ns = from.overrun_ns(),
          .bubbles_denied = from.bubbles_denied(),
          .unit_estimate_ns = from.unit_estimate_ns(),
          .memory_peak_bytes = from.memory_peak_bytes(),
          .task_cpu_ns = from.task_cpu_ns(),
          .units_overrun = from.units_overrun(),
          .bubbles_skipped = from.bubbles_skipped(),
          .overstays = from.overstays(),
          .freezes = from.freezes(),
          .memory_guard = from.memory_guard().substr(0, kLineMax),
          .stopped_by = from.stopped_by().substr(0, kLineMax),
          .checkpoints = from.checkpoints(),
          .checkpoint_failures = from.checkpoint_failures(),
          .checkpoint_ns = from.checkpoint_ns(),
          .checkpoint_unix_ns = from.checkpoint_unix_ns(),
          .resumed_from = from.resumed_from().substr(0, kLineMax)};
}

Device FromProto(const v1::Device& from) {
  Device to{.key = {from.node(), from.name()},
            .backend = from.backend(),
            .detail = from.detail(),
            .memory_bytes = from.memory_bytes(),
            .memory_free_bytes = from.memory_free_bytes(),
            .resident = from.resident(),
            .resident_limit = from.resident_limit(),
            .main_rank = std::nullopt};
  if (from.has_main_rank()) to.main_rank = FromProto(from.main_rank());
  return to;
}

BubbleStats FromProto(const v1::BubbleStats& from) {
  return {.device = {from.node(), from.device()},
          .main_job = from.main_job(),
          .rank = from.rank(),
          .stage = from.stage(),
          .bubble_class = FromProto(from.bubble_class()),
          .ordinal = from.ordinal(),
          .count = from.count(),
          .p10_ns = from.p10_ns(),
          .p50_ns = from.p50_ns(),
          .p90_ns = from.p90_ns(),
          .memory_free_bytes = from.memory_free_bytes(),
          .bubble_ns = from.bubble_ns(),
          .offered_ns = from.offered_ns(),
          .filled_ns = from.filled_ns(),
          .overrun_ns = from.overrun_ns(),
          .unit_ns = {from.unit_ns().begin(), from.unit_ns().end()},
          .latest_start_ns = {from.latest_start_ns().begin(), from.latest_start_ns().end()},
          .guard_ns = from.guard_ns(),
          .units = from.units(),
          .overruns = from.overruns(),
          .offer = v1::BubbleOffer_IsValid(from.offer()) ? static_cast<BubbleOffer>(from.offer())
                                                         : BubbleOffer::kUnknown};
}

FillMode FromProto(v1::FillMode from) {
  switch (from) {
    case v1::FILL_MODE_OFF:
      return FillMode::kOff;
    case v1::FILL_MODE_REPORT:
      return FillMode::kReport;
    case v1::FILL_MODE_FILL:
      return FillMode::kFill;
    default:
      return FillMode::kUnknown;
  }
}

MainJobSettings FromProto(const v1::MainJobSettings& from) {
  return {.main_job = from.main_job(),
          .mode = FromProto(from.mode()),
          .budget_ppm = from.budget_ppm(),
          .is_paused = from.paused(),
          .static_share_ppm = from.static_share_ppm()};
}

v1::JobSpec ToProto(const JobSpec& from) {
  v1::JobSpec to;
  to.set_name(from.name);
  for (const std::string& argument : from.command) to.add_command(argument);
  for (const auto& [name, value] : from.env) (*to.mutable_env())[name] = value;
  to.set_workdir(from.workdir);
  to.set_memory_bytes(from.memory_bytes);
  to.set_devices(from.devices);
  to.set_retries(from.retries);
  if (from.profile != FillProfile()) *to.mutable_profile() = ToProto(from.profile);
  to.set_way(static_cast<v1::FillWay>(from.way));
  to.set_priority(from.priority);
  to.set_tenant(from.tenant);
  to.set_deadline_unix_ns(UnixNs(from.deadline));
  to.set_min_runtime_ns(absl::ToInt64Nanoseconds(from.min_runtime));
  to.set_not_evictable(!from.is_evictable);
  to.set_allow_infeasible(from.may_be_infeasible);
  return to;
}

v1::AttemptKey ToProto(const AttemptKey& from) {
  v1::AttemptKey to;
  to.set_job_id(from.job.value());
  to.set_attempt(from.attempt.value());
  to.set_fence(from.fence.value());
  return to;
}

v1::EndCause ToProto(EndCause from) {
  switch (from) {
    case EndCause::kUnknown:
      return v1::END_CAUSE_UNSPECIFIED;
    case EndCause::kExited:
      return v1::END_CAUSE_EXITED;
    case EndCause::kSignalled:
      return v1::END_CAUSE_SIGNALLED;
    case EndCause::kOutOfMemory:
      return v1::END_CAUSE_OUT_OF_MEMORY;
    case EndCause::kLaunchFailed:
      return v1::END_CAUSE_LAUNCH_FAILED;
    case EndCause::kCancelled:
      return v1::END_CAUSE_CANCELLED;
    case EndCause::kLost:
      return v1::END_CAUSE_LOST;
    case EndCause::kRefused:
      return v1::END_CAUSE_REFUSED;
  }
  return v1::END_CAUSE_UNSPECIFIED;
}

v1::FillProgress ToProto(const FillProgress& from) {
  v1::FillProgress to;
  to.set_units(from.units);
  to.set_unit_cpu_ns(from.unit_cpu_ns);
  to.set_unit_cpu_in_bubble_ns(from.unit_cpu_in_bubble_ns);
  to.set_overrun_ns(from.overrun_ns);
  to.set_bubbles_denied(from.bubbles_denied);
  to.set_unit_estimate_ns(from.unit_estimate_ns);
  to.set_memory_peak_bytes(from.memory_peak_bytes);
  to.set_task_cpu_ns(from.task_cpu_ns);
  to.set_units_overrun(from.units_overrun);
  to.set_bubbles_skipped(from.bubbles_skipped);
  to.set_overstays(from.overstays);
  to.set_freezes(from.freezes);
  to.set_memory_guard(from.memory_guard);
  to.set_stopped_by(from.stopped_by);
  to.set_checkpoints(from.checkpoints);
  to.set_checkpoint_failures(from.checkpoint_failures);
  to.set_checkpoint_ns(from.checkpoint_ns);
  to.set_checkpoint_unix_ns(from.checkpoint_unix_ns);
  to.set_resumed_from(from.resumed_from);
  return to;
}

v1::Device ToProto(const Device& from) {
  v1::Device to;
  to.set_node(from.key.node);
  to.set_name(from.key.name);
  to.set_backend(from.backend);
  to.set_detail(from.detail);
  to.set_memory_bytes(from.memory_bytes);
  to.set_memory_free_bytes(from.memory_free_bytes);
  to.set_resident(from.resident);
  to.set_resident_limit(from.resident_limit);
  if (from.main_rank.has_value()) *to.mutable_main_rank() = ToProto(*from.main_rank);
  return to;
}

v1::BubbleStats ToProto(const BubbleStats& from) {
  v1::BubbleStats to;
  to.set_node(from.device.node);
  to.set_device(from.device.name);
  to.set_main_job(from.main_job);
  to.set_rank(from.rank);
  to.set_stage(from.stage);
  to.set_bubble_class(ToProto(from.bubble_class));
  to.set_ordinal(from.ordinal);
  to.set_count(from.count);
  to.set_p10_ns(from.p10_ns);
  to.set_p50_ns(from.p50_ns);
  to.set_p90_ns(from.p90_ns);
  to.set_memory_free_bytes(from.memory_free_bytes);
  to.set_bubble_ns(from.bubble_ns);
  to.set_offered_ns(from.offered_ns);
  to.set_filled_ns(from.filled_ns);
  to.set_overrun_ns(from.overrun_ns);
  to.mutable_unit_ns()->Assign(from.unit_ns.begin(), from.unit_ns.end());
  to.mutable_latest_start_ns()->Assign(from.latest_start_ns.begin(), from.latest_start_ns.end());
  to.set_guard_ns(from.guard_ns);
  to.set_units(from.units);
  to.set_overruns(from.overruns);
  to.set_offer(static_cast<v1::BubbleOffer>(from.offer));
  return to;
}

v1::MainJobSettings ToProto(const MainJobSettings& from) {
  v1::MainJobSettings to;
  to.set_main_job(from.main_job);
  to.set_mode(ToProto(from.mode));
  to.set_budget_ppm(from.budget_ppm);
  to.set_paused(from.is_paused);
  to.set_static_share_ppm(from.static_share_ppm);
  return to;
}

v1::Job ToProto(const Job& from, const Plan& plan, Instant now) {
  v1::Job to;
  to.set_id(from.id.value());
  *to.mutable_spec() = ToProto(*from.spec);
  to.set_state(ToProto(from.phase));
  if (from.phase == JobPhase::kPending) {
    const std::optional<PendingReason> reason = ReasonOf(from, plan, now);
    to.set_pending_reason(reason.has_value() ? ToProto(reason->code)
                                             : v1::PENDING_REASON_NOT_PLANNED_YET);
    to.set_pending_text(ExplainWaitingJob(from, plan, now));
  }
  to.set_cancel_requested(from.is_cancel_requested);
  to.set_end_text(ExplainJobEnd(from));
  to.set_submitted_unix_ns(absl::ToUnixNanos(from.submitted_at));
  to.set_ended_unix_ns(UnixNs(from.ended_at));
  for (const Attempt& attempt : from.attempts) *to.add_attempts() = ToProto(attempt);
  to.set_memory_bytes(from.memory_bytes);
  return to;
}

}  // namespace pipefill::scheduler
