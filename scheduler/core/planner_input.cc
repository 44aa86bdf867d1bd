#include "scheduler/core/planner_input.h"

#include <algorithm>
#include <optional>

#include "scheduler/core/job_forecast.h"
#include "scheduler/core/work_left.h"

namespace pipefill::scheduler {

DeviceSnapshot PlannedDevice(const Node& node, size_t device, const LiveAttempts& live,
                             const DeviceContext& context) {
  DeviceSnapshot snapshot = SnapshotDevice(node, device, live);
  const auto quarantine = context.quarantines.find(node.name);
  snapshot.is_quarantined =
      quarantine != context.quarantines.end() && context.now < quarantine->second.until;
  snapshot.room = RoomOf(node, snapshot.key);
  const std::optional<MainRank>& rank = node.devices[device].main_rank;
  if (!rank.has_value() || snapshot.main_job != MainJobUse::kFilled) return snapshot;
  const auto settings = context.main_jobs.find(rank->main_job);
  // A task that is put there would hold memory and do nothing.
  if (settings != context.main_jobs.end() && settings->second.is_paused) {
    snapshot.main_job = MainJobUse::kMeasured;
  }
  return snapshot;
}

PendingJob PlannedJob(const Job& job, const EventTime& time) {
  PendingJob pending{.id = job.id,
                     .memory_bytes = job.memory_bytes,
                     .not_before = job.not_before,
                     .preferred = job.move_to,
                     .needs = job.needs,
                     .priority = job.spec->priority,
                     .tenant = job.spec->tenant,
                     .seconds_left = SecondsLeft(job),
                     .deadline = std::nullopt,
                     .reserved = job.reserved};
  // Far enough away not to overflow.
  constexpr absl::Duration kFar = absl::Hours(24 * 365 * 100);
  if (job.spec->deadline.has_value()) {
    pending.deadline = time.now + std::clamp(*job.spec->deadline - time.wall, -kFar, kFar);
  }
  return pending;
}

LiveAttempt LiveAttemptOf(const Job& job, Instant evictable_at) {
  const bool is_started = job.live_attempt().state == AttemptState::kRunning;
  return {.key = job.live_key(),
          .device = job.live_attempt().device,
          .memory_bytes = job.memory_bytes,
          .is_started = is_started,
          .priority = job.spec->priority,
          .may_be_evicted = job.spec->is_evictable,
          .evictable_at = is_started ? evictable_at : Instant(),
          .is_leaving = job.is_leaving(),
          .seconds_left = SecondsLeft(job).value_or(0)};
}

}  // namespace pipefill::scheduler
