// What the planner decides: where jobs go now, which tasks make room for others, and the numbers
// that say of each job that goes nowhere why.
//
// Pure.
#ifndef PLANNER_PLAN_H_
#define PLANNER_PLAN_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "common/ids.h"
#include "common/instant.h"
#include "planner/snapshot.h"

namespace pipefill {

struct Placement {
  JobId job;
  DeviceKey device;

  friend bool operator==(const Placement&, const Placement&) = default;
};

// The task is to be stopped, and what becomes free on its device is kept for the beneficiary.
struct Eviction {
  JobId victim;
  DeviceKey device;
  JobId beneficiary;

  friend bool operator==(const Eviction&, const Eviction&) = default;
};

// In the order in which they are looked at: the first that holds is the reason.
enum class PendingCode {
  kBackOff,        // its last attempt failed; it waits until `not_before`
  kReserved,       // a task is being evicted for it
  kNoAgent,        // no device is connected
  kNoMainJob,      // no device has a main job whose bubbles may be filled
  kInfeasible,     // needs more than any device with such a main job has
  kQuarantine,     // every such device is of a node that refused launches
  kQuota,          // its tenant has as many tasks as it may
  kResidentLimit,  // every device with such a main job holds as many tasks as it may
  kMemory,         // no device with a free seat has `need_bytes` left
  kNoBubbleFits,   // where it would fit, no configuration of its profile fits the bubbles
};

// The devices after the last placement of a plan, in numbers.
struct PlanNumbers {
  // Connected devices; those with a main job to fill; those with one that is not to be filled.
  int devices = 0;
  int devices_filled = 0;
  int devices_measured = 0;
  // Over the devices with a main job to fill.
  int devices_quarantined = 0;
  int resident = 0;
  int resident_limit = 0;
  // The most that a further task could have, of an open device; the first one of them.
  int64_t best_free_bytes = 0;
  DeviceKey best_device;
  // The largest budget of a device with a main job to fill; the first one of them.
  int64_t largest_bytes = 0;
  DeviceKey largest_device;

  friend bool operator==(const PlanNumbers&, const PlanNumbers&) = default;
};

// A device that has the memory for a job, and no bubble for its units; of those devices the one
// with the longest units, the first one of them.
struct Misfit {
  DeviceKey device;
  BubbleRoom room;

  friend bool operator==(const Misfit&, const Misfit&) = default;
};

// What a job needs of a device; compared by content.
struct JobNeed {
  std::shared_ptr<const std::vector<UnitNeed>> units;  // nullptr = nothing is known
  int64_t memory_bytes = 0;

  friend bool operator==(const JobNeed& a, const JobNeed& b) {
    if (a.memory_bytes != b.memory_bytes) return false;
    if (a.units == b.units) return true;
    return a.units != nullptr && b.units != nullptr && *a.units == *b.units;
  }
  template <typename H>
  friend H AbslHashValue(H hash, const JobNeed& need) {
    hash = H::combine(std::move(hash), need.memory_bytes);
    if (need.units == nullptr) return hash;
    for (const UnitNeed& unit : *need.units) {
      hash = H::combine(std::move(hash), unit.unit_ns, unit.resident_bytes, unit.peak_bytes);
    }
    return hash;
  }
};
// All jobs with the same need wait for the same reason.
using Misfits = absl::flat_hash_map<JobNeed, Misfit>;

// Why one job waits.
struct PendingReason {
  PendingCode code = PendingCode::kNoAgent;
  PlanNumbers numbers;
  int64_t need_bytes = 0;
  std::optional<Instant> not_before;    // kBackOff
  std::optional<Reservation> reserved;  // kReserved
  // kQuota.
  std::string tenant;
  int tenant_resident = 0;
  int tenant_resident_max = 0;
  // kNoBubbleFits: the need that came closest, and the bubbles that it came closest to.
  UnitNeed need_unit = {};
  Misfit misfit = {};

  friend bool operator==(const PendingReason&, const PendingReason&) = default;
};

// A job that waits has the reason that ExplainWaiting (feasibility.h) makes of this.
struct Plan {
  // In the order in which they were decided.
  std::vector<Placement> placements;
  std::vector<Eviction> evictions;
  PlanNumbers numbers;
  // As the placements leave them.
  TenantMap tenants;
  Misfits misfits;
  // When time alone will change the plan; nullopt if it will not.
  std::optional<Instant> next_plan;
  // Jobs with a higher id came later, and were not looked at.
  JobId last_job;
  // The policy failed: there are no placements.
  absl::Status error;
};

}  // namespace pipefill

#endif  // PLANNER_PLAN_H_
