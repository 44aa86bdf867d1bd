// What the planner is told of jobs and devices: the same from the state as from a view of it.
//
// Pure.
#ifndef SCHEDULER_CORE_PLANNER_INPUT_H_
#define SCHEDULER_CORE_PLANNER_INPUT_H_

#include <cstddef>

#include "common/instant.h"
#include "planner/snapshot.h"
#include "scheduler/core/event.h"
#include "scheduler/core/job.h"
#include "scheduler/core/live_attempts.h"
#include "scheduler/core/main_job_table.h"
#include "scheduler/core/node_table.h"
#include "scheduler/core/refusal_table.h"

namespace pipefill::scheduler {

// What bears on a device beside its node.
struct DeviceContext {
  const MainJobMap& main_jobs;
  const QuarantineMap& quarantines;
  Instant now;
};

// The device with those of `live`, the attempts of its node, that are on it or on their way to it.
DeviceSnapshot PlannedDevice(const Node& node, size_t device, const LiveAttempts& live,
                             const DeviceContext& context);

// REQUIRES: the job waits.
PendingJob PlannedJob(const Job& job, const EventTime& time);

// The attempt of a job that has one that lives.
LiveAttempt LiveAttemptOf(const Job& job, Instant evictable_at);

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_CORE_PLANNER_INPUT_H_
