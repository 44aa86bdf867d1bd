#include "scheduler/convert/convert.h"

#include <optional>
#include <string>

#include "absl/time/time.h"
#include "common/text.h"
#include "scheduler/convert/profile.h"
#include "scheduler/convert/ties.h"
#include "scheduler/core/explain.h"
#include "scheduler/core/tenant_table.h"

namespace pipefill::scheduler {
namespace {

static_assert(static_cast<int>(FillWay::kSdk) == v1::FILL_WAY_SDK);
static_assert(static_cast<int>(FillWay::kProcess) == v1::FILL_WAY_PROCESS);
// Of an agent's lines for people, in bytes.
constexpr size_t kLineMax = 256;

}  // namespace

v1::JobState StateOf(JobPhase phase) {
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

namespace {

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
    case PendingCode::kNoBubbleFits:
      return v1::PENDING_REASON_NO_BUBBLE_FITS;
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

static_assert(static_cast<int>(JobStep::Kind::kSubmitted) + 1 == v1::JOB_STEP_SUBMITTED);
static_assert(static_cast<int>(JobStep::Kind::kCancelled) + 1 == v1::JOB_STEP_CANCELLED);
static_assert(static_cast<int>(JobStep::Actor::kUser) + 1 == v1::JOB_ACTOR_USER);
static_assert(static_cast<int>(JobStep::Actor::kAgent) + 1 == v1::JOB_ACTOR_AGENT);

v1::PendingReasonCode PendingReasonOf(const Job& job, const Plan& plan, Instant now) {
  if (job.is_held) return v1::PENDING_REASON_HELD;
  const std::optional<PendingReason> reason = ReasonOf(job, plan, now);
  return reason.has_value() ? ToProto(reason->code) : v1::PENDING_REASON_NOT_PLANNED_YET;
}

// Of a terminal job.
v1::EndCause EndCauseOf(const Job& job) {
  if (job.is_start_expired) return v1::END_CAUSE_NOT_STARTED;
  if (job.phase == JobPhase::kCancelled) return v1::END_CAUSE_CANCELLED;
  if (job.attempts.empty()) return v1::END_CAUSE_UNSPECIFIED;  // an array: its tasks have causes
  return ToProto(job.attempts.back().end.cause);
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
          .may_be_infeasible = from.allow_infeasible(),
          .array = from.has_array() ? std::optional(FromProto(from.array())) : std::nullopt,
          .dependencies = DependenciesOf(from),
          .max_runtime = from.max_runtime_ns() == 0
                             ? std::nullopt
                             : std::optional(absl::Nanoseconds(from.max_runtime_ns())),
          .labels = {from.labels().begin(), from.labels().end()},
          .start_before = from.start_before_unix_ns() == 0
                              ? std::nullopt
                              : std::optional(absl::FromUnixNanos(from.start_before_unix_ns())),
          .is_held = from.hold()};
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
    case v1::END_CAUSE_MAX_RUNTIME:
      return EndCause::kMaxRuntime;
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
          .memory_guard = CutText(from.memory_guard(), kLineMax),
          .stopped_by = CutText(from.stopped_by(), kLineMax),
          .log_error = CutText(from.log_error(), kLineMax),
          .processes_denied = from.processes_denied(),
          .checkpoints = from.checkpoints(),
          .checkpoint_failures = from.checkpoint_failures(),
          .checkpoint_ns = from.checkpoint_ns(),
          .checkpoint_unix_ns = from.checkpoint_unix_ns(),
          .resumed_from = CutText(from.resumed_from(), kLineMax),
          .pieces = from.pieces()};
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
  if (from.max_runtime.has_value()) {
    to.set_max_runtime_ns(absl::ToInt64Nanoseconds(*from.max_runtime));
  }
  for (const auto& [key, value] : from.labels) (*to.mutable_labels())[key] = value;
  to.set_start_before_unix_ns(UnixNs(from.start_before));
  to.set_hold(from.is_held);
  if (from.array.has_value()) *to.mutable_array() = ToProto(*from.array);
  for (const Dependency& dependency : from.dependencies) {
    *to.add_dependencies() = ToProto(dependency);
  }
  return to;
}

v1::AttemptKey ToProto(const AttemptKey& from) {
  v1::AttemptKey to;
  to.set_job_id(from.job.value());
  to.set_attempt(from.attempt.value());
  to.set_fence(from.fence.value());
  return to;
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
    case EndCause::kMaxRuntime:
      return v1::END_CAUSE_MAX_RUNTIME;
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
  to.set_log_error(from.log_error);
  to.set_processes_denied(from.processes_denied);
  to.set_checkpoints(from.checkpoints);
  to.set_checkpoint_failures(from.checkpoint_failures);
  to.set_checkpoint_ns(from.checkpoint_ns);
  to.set_checkpoint_unix_ns(from.checkpoint_unix_ns);
  to.set_resumed_from(from.resumed_from);
  to.set_pieces(from.pieces);
  return to;
}

namespace {

// What watchers are told of a spec: it is told again with each change.
v1::JobSpec ToWatchedProto(const JobSpec& from) {
  v1::JobSpec to;
  to.set_name(from.name);
  to.set_tenant(from.tenant);
  to.set_priority(from.priority);
  for (const auto& [key, value] : from.labels) (*to.mutable_labels())[key] = value;
  return to;
}

v1::Job Convert(const Job& from, const Plan& plan, Instant now, bool is_whole) {
  v1::Job to;
  to.set_id(from.id.value());
  *to.mutable_spec() = is_whole ? ToProto(*from.spec) : ToWatchedProto(*from.spec);
  to.set_state(StateOf(from.phase));
  if (from.phase == JobPhase::kPending) {
    to.set_pending_reason(PendingReasonOf(from, plan, now));
    to.set_pending_text(ExplainWaitingJob(from, plan, now));
  }
  to.set_cancel_requested(from.is_cancel_requested);
  to.set_end_text(ExplainJobEnd(from));
  to.set_submitted_unix_ns(absl::ToUnixNanos(from.submitted_at));
  to.set_ended_unix_ns(UnixNs(from.ended_at));
  for (const Attempt& attempt : from.attempts) {
    if (is_whole || &attempt == &from.attempts.back()) *to.add_attempts() = ToProto(attempt);
  }
  to.set_memory_bytes(from.memory_bytes);
  to.set_profile_source(from.profile.source);
  to.set_held(from.is_held && !IsTerminal(from.phase));
  if (IsTerminal(from.phase)) to.set_end_cause(EndCauseOf(from));
  return to;
}

}  // namespace

v1::Job ToProto(const Job& from, const Plan& plan, Instant now) {
  return Convert(from, plan, now, /*is_whole=*/true);
}

v1::Job ToWatchedProto(const Job& from, const Plan& plan, Instant now) {
  return Convert(from, plan, now, /*is_whole=*/false);
}

v1::JobStep ToProto(const JobStep& from) {
  v1::JobStep to;
  to.set_unix_ns(absl::ToUnixNanos(from.at));
  to.set_kind(static_cast<v1::JobStepKind>(static_cast<int>(from.kind) + 1));
  to.set_actor(static_cast<v1::JobActor>(static_cast<int>(from.actor) + 1));
  to.set_node(from.node);
  to.set_attempt(from.attempt.value());
  to.set_text(from.text);
  return to;
}

}  // namespace pipefill::scheduler
