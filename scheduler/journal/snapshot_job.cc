#include "scheduler/journal/snapshot_job.h"

#include <memory>
#include <optional>

#include "scheduler/convert/convert.h"
#include "scheduler/convert/profile.h"

namespace pipefill::scheduler {
namespace {

v1::SnapshotPhase ToProto(JobPhase phase) {
  switch (phase) {
    case JobPhase::kPending:
      return v1::SNAPSHOT_PHASE_PENDING;
    case JobPhase::kStarting:
      return v1::SNAPSHOT_PHASE_STARTING;
    case JobPhase::kRunning:
      return v1::SNAPSHOT_PHASE_RUNNING;
    case JobPhase::kStopping:
      return v1::SNAPSHOT_PHASE_STOPPING;
    case JobPhase::kSucceeded:
      return v1::SNAPSHOT_PHASE_SUCCEEDED;
    case JobPhase::kFailed:
      return v1::SNAPSHOT_PHASE_FAILED;
    case JobPhase::kCancelled:
      return v1::SNAPSHOT_PHASE_CANCELLED;
  }
  return v1::SNAPSHOT_PHASE_UNSPECIFIED;
}

// Every phase has its number in the same order.
JobPhase FromProto(v1::SnapshotPhase phase) {
  for (JobPhase known : kAllJobPhases) {
    if (ToProto(known) == phase) return known;
  }
  return JobPhase::kPending;
}

AttemptState FromProto(v1::AttemptState state) {
  if (state == v1::ATTEMPT_STATE_STARTING) return AttemptState::kStarting;
  if (state == v1::ATTEMPT_STATE_RUNNING) return AttemptState::kRunning;
  return AttemptState::kEnded;
}

// 0 = none; so the first nanosecond of 1970 is the second one.
int64_t UnixNs(const std::optional<absl::Time>& time) {
  if (!time.has_value()) return 0;
  const int64_t unix_ns = absl::ToUnixNanos(*time);
  return unix_ns == 0 ? 1 : unix_ns;
}

std::optional<absl::Time> FromUnixNs(int64_t unix_ns) {
  if (unix_ns == 0) return std::nullopt;
  return absl::FromUnixNanos(unix_ns);
}

void Fill(const Attempt& from, v1::SnapshotAttempt* to) {
  to->set_fence(from.fence.value());
  to->set_node(from.device.node);
  to->set_device(from.device.name);
  to->set_configuration(from.configuration);
  to->set_state(ToProto(from.state));
  to->set_end_cause(ToProto(from.end.cause));
  to->set_exit_code(from.end.exit_code);
  to->set_signal(from.end.signal);
  to->set_end_text(from.end.text);
  to->set_placed_unix_ns(absl::ToUnixNanos(from.placed_at));
  to->set_started_unix_ns(UnixNs(from.started_at));
  to->set_ended_unix_ns(UnixNs(from.ended_at));
  to->set_evicted_for(from.evicted_for.value_or(JobId()).value());
  to->set_requeued(from.is_requeued);
  if (from.state != AttemptState::kEnded) return;
  to->set_units(from.progress.units);
  to->set_unit_cpu_ns(from.progress.unit_cpu_ns);
  to->set_unit_estimate_ns(from.progress.unit_estimate_ns);
}

Attempt Read(const v1::SnapshotAttempt& from, AttemptNumber number) {
  Attempt to;
  to.number = number;
  to.fence = Fence(from.fence());
  to.device = {from.node(), from.device()};
  to.configuration = from.configuration();
  to.state = FromProto(from.state());
  to.end = {scheduler::FromProto(from.end_cause()), from.exit_code(), from.signal(),
            from.end_text()};
  to.placed_at = absl::FromUnixNanos(from.placed_unix_ns());
  to.started_at = FromUnixNs(from.started_unix_ns());
  to.ended_at = FromUnixNs(from.ended_unix_ns());
  if (from.evicted_for() != 0) to.evicted_for = JobId(from.evicted_for());
  to.is_requeued = from.requeued();
  to.progress.units = from.units();
  to.progress.unit_cpu_ns = from.unit_cpu_ns();
  to.progress.unit_estimate_ns = from.unit_estimate_ns();
  return to;
}

v1::JobStepKind ToProto(Wish::Kind kind) {
  switch (kind) {
    case Wish::Kind::kHold:
      return v1::JOB_STEP_HELD;
    case Wish::Kind::kRelease:
      return v1::JOB_STEP_RELEASED;
    case Wish::Kind::kRequeue:
      return v1::JOB_STEP_REQUEUE_REQUESTED;
    case Wish::Kind::kMove:
      return v1::JOB_STEP_MOVE_REQUESTED;
    case Wish::Kind::kCancel:
      return v1::JOB_STEP_CANCEL_REQUESTED;
  }
  return v1::JOB_STEP_UNSPECIFIED;
}

Wish::Kind FromProto(v1::JobStepKind kind) {
  for (Wish::Kind known :
       {Wish::Kind::kHold, Wish::Kind::kRelease, Wish::Kind::kRequeue, Wish::Kind::kMove}) {
    if (ToProto(known) == kind) return known;
  }
  return Wish::Kind::kCancel;
}

void Fill(const Wish& from, v1::SnapshotWish* to) {
  to->set_kind(ToProto(from.kind));
  to->set_unix_ns(absl::ToUnixNanos(from.at));
  to->set_attempt(from.attempt.value());
  to->set_text(from.text);
}

Wish Read(const v1::SnapshotWish& from) {
  return {FromProto(from.kind()), absl::FromUnixNanos(from.unix_ns()),
          AttemptNumber(from.attempt()), from.text()};
}

// Absent if the job goes by its spec's own.
void Fill(const JobProfile& from, v1::SnapshotJob* to) {
  if (from.source.empty()) return;
  v1::SnapshotJobProfile& profile = *to->mutable_profile();
  *profile.mutable_profile() = scheduler::ToProto(*from.profile);
  profile.set_source(from.source);
  profile.set_is_of_this_content(from.is_of_this_content);
  profile.set_is_learned(from.is_learned);
}

JobProfile Read(const v1::SnapshotJobProfile& from) {
  return {.profile = std::make_shared<const FillProfile>(scheduler::FromProto(from.profile())),
          .source = from.source(),
          .is_of_this_content = from.is_of_this_content(),
          .is_learned = from.is_learned()};
}

}  // namespace

v1::SnapshotJob ToSnapshot(const Job& job) {
  v1::SnapshotJob to;
  to.set_id(job.id.value());
  to.set_key(job.key);
  if (job.is_task()) {
    to.set_array_id(job.array_of.value());
  } else {
    *to.mutable_spec() = scheduler::ToProto(*job.spec);
  }
  to.set_phase(ToProto(job.phase));
  to.set_cancel_requested(job.is_cancel_requested);
  to.set_failures(job.failures);
  to.set_memory_bytes(job.memory_bytes);
  to.set_submitted_unix_ns(absl::ToUnixNanos(job.submitted_at));
  to.set_ended_unix_ns(UnixNs(job.ended_at));
  for (const Attempt& attempt : job.attempts) Fill(attempt, to.add_attempts());
  if (job.move_to.has_value()) {
    to.set_move_to_node(job.move_to->node);
    to.set_move_to_device(job.move_to->name);
  }
  to.set_backing_off(job.not_before.has_value());
  if (job.reserved.has_value()) {
    to.set_reserved_node(job.reserved->device.node);
    to.set_reserved_device(job.reserved->device.name);
  }
  to.set_refusals(job.refusals);
  to.set_held(job.is_held);
  to.set_start_expired(job.is_start_expired);
  for (const Wish& wish : job.wishes) Fill(wish, to.add_wishes());
  Fill(job.profile, &to);
  if (job.is_array()) {
    to.mutable_array()->set_next(job.tasks->next());
    to.mutable_array()->set_results(job.tasks->results());
  }
  if (job.lost_dependency.has_value()) {
    to.set_lost_dependency(job.lost_dependency->job.value());
    to.set_lost_dependency_phase(ToProto(job.lost_dependency->phase));
  }
  return to;
}

Job FromSnapshot(const v1::SnapshotJob& from) {
  Job to;
  to.id = JobId(from.id());
  to.key = from.key();
  to.spec = std::make_shared<const JobSpec>(scheduler::FromProto(from.spec()));
  to.array_of = JobId(from.array_id());
  to.phase = FromProto(from.phase());
  to.is_cancel_requested = from.cancel_requested();
  to.failures = from.failures();
  to.memory_bytes = from.memory_bytes();
  to.submitted_at = absl::FromUnixNanos(from.submitted_unix_ns());
  to.ended_at = FromUnixNs(from.ended_unix_ns());
  to.attempts.reserve(static_cast<size_t>(from.attempts_size()));
  for (const v1::SnapshotAttempt& attempt : from.attempts()) {
    to.attempts.push_back(
        Read(attempt, AttemptNumber(static_cast<int32_t>(to.attempts.size()) + 1)));
  }
  if (!from.move_to_node().empty() || !from.move_to_device().empty()) {
    to.move_to = DeviceKey{from.move_to_node(), from.move_to_device()};
  }
  if (from.backing_off()) to.not_before = Instant();
  if (!from.reserved_node().empty() || !from.reserved_device().empty()) {
    to.reserved = Reservation{{from.reserved_node(), from.reserved_device()}, Instant()};
  }
  to.refusals = from.refusals();
  to.is_held = from.held();
  to.is_start_expired = from.start_expired();
  for (const v1::SnapshotWish& wish : from.wishes()) to.wishes.push_back(Read(wish));
  if (from.has_profile()) to.profile = Read(from.profile());
  if (from.has_array() && to.spec->array.has_value()) {
    auto tasks =
        ArrayTasks::FromKept(to.spec->array->size(), from.array().next(), from.array().results());
    // Without them the job is refused.
    if (tasks.has_value()) to.tasks = *std::move(tasks);
  }
  if (from.lost_dependency() != 0) {
    to.lost_dependency =
        LostDependency{JobId(from.lost_dependency()), FromProto(from.lost_dependency_phase())};
  }
  return to;
}

}  // namespace pipefill::scheduler
