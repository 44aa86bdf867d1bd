// What the planner decides: where jobs go now, and for every job that goes nowhere, why.
//
// Pure.
#ifndef PLANNER_PLAN_H_
#define PLANNER_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "common/ids.h"
#include "common/instant.h"
#include "planner/snapshot.h"

namespace pipefill {

struct Placement {
  JobId job;
  DeviceKey device;

  friend bool operator==(const Placement&, const Placement&) = default;
};

// In the order in which they are looked at: the first that holds is the reason.
enum class PendingCode {
  kBackOff,        // its last attempt failed; it waits until `not_before`
  kNoAgent,        // no device is connected
  kNoMainJob,      // no device has a main job whose bubbles may be filled
  kResidentLimit,  // every device with such a main job holds as many tasks as it may
  kMemory,         // no device with a free seat has `need_bytes` left
  kNoBubbleFits,   // where it would fit, no configuration of its profile fits the bubbles
};

// A reason with the numbers behind it, as they were after the last placement of the plan.
struct PendingReason {
  PendingCode code = PendingCode::kNoAgent;
  // Connected devices; those with a main job to fill; those with one that is not to be filled.
  int devices = 0;
  int devices_filled = 0;
  int devices_measured = 0;
  // Over the devices with a main job to fill.
  int resident = 0;
  int resident_limit = 0;
  int64_t need_bytes = 0;
  // kMemory: the largest free memory of a device with a seat.
  int64_t best_free_bytes = 0;
  DeviceKey best_device;
  // kMemory: the largest budget of a device with a main job to fill.
  int64_t largest_bytes = 0;
  DeviceKey largest_device;
  // kBackOff.
  std::optional<Instant> not_before;
  // kNoBubbleFits: the need that came closest, the job's cap, and the bubbles of the device with
  // the longest units, which is best_device.
  UnitNeed need_unit = {};
  BubbleRoom best_room = {};

  friend bool operator==(const PendingReason&, const PendingReason&) = default;
};

struct WaitingJob {
  JobId job;
  size_t reason = 0;  // index into Plan::reasons

  friend bool operator==(const WaitingJob&, const WaitingJob&) = default;
};

// Every job of the snapshot is in exactly one of `placements` and `waiting`.
struct Plan {
  // In the order in which they were decided.
  std::vector<Placement> placements;
  // In the order of their ids. Jobs with the same reason share one entry of `reasons`.
  std::vector<WaitingJob> waiting;
  std::vector<PendingReason> reasons;
  // When time alone will change the plan; nullopt if it will not.
  std::optional<Instant> next_plan;

  // Index into `waiting`, which is the job's place in line; nullopt if the job does not wait.
  std::optional<size_t> PlaceInLine(JobId job) const;

  friend bool operator==(const Plan&, const Plan&) = default;
};

}  // namespace pipefill

#endif  // PLANNER_PLAN_H_
