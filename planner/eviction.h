// Which tasks make room for a job of higher priority.
//
// Tasks of the same priority never evict each other. So with each eviction the priorities of the
// jobs that have a place, sorted downwards, grow: evictions end by themselves, whatever order jobs
// are looked at in, until a job comes or goes.
//
// Pure.
#ifndef PLANNER_EVICTION_H_
#define PLANNER_EVICTION_H_

#include <compare>
#include <cstdint>
#include <optional>
#include <vector>

#include "common/ids.h"
#include "common/instant.h"
#include "planner/snapshot.h"

namespace pipefill {

// Whether `task` may be evicted for a job of that priority. The only rule about it.
bool MayEvict(int32_t priority, const ResidentTask& task, Instant now);

// Whether anybody may be evicted from the device.
bool CanMakeRoom(const DeviceSnapshot& device);

// What evicting from one device would cost: compared entry by entry, less is better.
struct EvictionCost {
  int32_t highest_priority = 0;  // of the victims
  int victims = 0;

  friend auto operator<=>(const EvictionCost&, const EvictionCost&) = default;
};

struct EvictionChoice {
  EvictionCost cost;
  std::vector<size_t> victims;  // indices into the device's residents
};

// The tasks of `device` that would have to go for `job`, those of the lowest priority first and
// none in vain; nullopt if no set of them would do, the job fits already, or tasks are leaving it
// already: a device makes room for one job at a time.
std::optional<EvictionChoice> ChooseVictims(const PendingJob& job, const DeviceSnapshot& device,
                                            Instant now);

// Marks the victims as leaving and keeps the place for `job`.
void Evict(const PendingJob& job, const EvictionChoice& choice, DeviceSnapshot* device);

}  // namespace pipefill

#endif  // PLANNER_EVICTION_H_
