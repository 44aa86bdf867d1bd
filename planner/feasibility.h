// May this job go to this device now? If it may go nowhere, why?
//
// Pure.
#ifndef PLANNER_FEASIBILITY_H_
#define PLANNER_FEASIBILITY_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "common/instant.h"
#include "planner/plan.h"
#include "planner/snapshot.h"

namespace pipefill {

// Whether `device` could take any task at all: it has a main job to fill, and a seat.
bool IsOpen(const DeviceSnapshot& device);

// Whether one of the needs fits the bubbles of the device, and `memory_bytes`, the job's cap.
bool FitsBubbles(const PendingJob& job, const DeviceSnapshot& device);

// Memory that a job without a reservation may have on `device` now; -1 if it is not open, or its
// last seat is reserved. What is reserved is met from what leaving tasks give back first.
int64_t FreeBytes(const DeviceSnapshot& device);

// Whether `job` may go to `device`: it is open, has the memory, beside what others have reserved,
// and its bubbles take the job's units. REQUIRES: a reservation of the job has not expired.
bool Fits(const PendingJob& job, const DeviceSnapshot& device);

// Whether `job` still waits after a failed attempt.
bool IsBackingOff(const PendingJob& job, Instant now);

// Whether a place is kept for `job`.
bool HasReservation(const PendingJob& job, Instant now);

// Keeps what `job` has reserved from others. REQUIRES: `device` is the one it has reserved.
void Hold(const PendingJob& job, DeviceSnapshot* device);
// All reservations of the snapshot that have not expired.
void HoldReservations(ClusterSnapshot* snapshot);

// Puts a task for `job` on `device`, as far as the plan is concerned.
void PutOn(const PendingJob& job, DeviceSnapshot* device);
// Counts it for its tenant.
void CountFor(TenantSnapshot* tenant);

// Adds one device to the numbers; in device order.
void AddDevice(const DeviceSnapshot& device, PlanNumbers* numbers);

// Keeps in mind that the device would have the memory for a job without a reservation and has no
// bubble for its units, if so.
void NoteMisfit(const PendingJob& job, const DeviceSnapshot& device, Misfits* misfits);

// The reason why `job` waits, from what a plan left. REQUIRES: it is backing off or fits nowhere.
PendingReason ExplainWaiting(const PendingJob& job, const Plan& plan, Instant now);

}  // namespace pipefill

#endif  // PLANNER_FEASIBILITY_H_
