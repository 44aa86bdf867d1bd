// May this job go to this device now? If it may go nowhere, why?
//
// Pure.
#ifndef PLANNER_FEASIBILITY_H_
#define PLANNER_FEASIBILITY_H_

#include <vector>

#include "common/instant.h"
#include "planner/plan.h"
#include "planner/snapshot.h"

namespace pipefill {

// Whether `device` could take any task at all: it has a main job to fill, and a seat.
bool IsOpen(const DeviceSnapshot& device);

// Whether one of the needs fits the bubbles of the device, and `memory_bytes`, the job's cap.
bool FitsBubbles(const PendingJob& job, const DeviceSnapshot& device);

// Whether `job` may go to `device`: it is open, has the memory, and its bubbles take the job's
// units.
bool Fits(const PendingJob& job, const DeviceSnapshot& device);

// Whether `job` still waits after a failed attempt.
bool IsBackingOff(const PendingJob& job, Instant now);

// The reason why `job` waits. REQUIRES: it is backing off or fits none of `devices`.
PendingReason ExplainWaiting(const PendingJob& job, const std::vector<DeviceSnapshot>& devices,
                             Instant now);

}  // namespace pipefill

#endif  // PLANNER_FEASIBILITY_H_
