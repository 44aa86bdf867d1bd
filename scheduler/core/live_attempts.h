// The attempts on one node that have not ended, as far as its load is concerned: by device, since
// plans ask for a device at a time.
//
// Thread-compatible.
#ifndef SCHEDULER_CORE_LIVE_ATTEMPTS_H_
#define SCHEDULER_CORE_LIVE_ATTEMPTS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/ids.h"
#include "common/instant.h"
#include "planner/snapshot.h"
#include "scheduler/core/job.h"

namespace pipefill::scheduler {

struct LiveAttempt {
  AttemptKey key;
  DeviceKey device;
  int64_t memory_bytes = 0;
  bool is_started = false;
  int32_t priority = 0;
  // By its user's leave; only once it has started, from `evictable_at` on.
  bool may_be_evicted = true;
  Instant evictable_at = {};
  // It is being stopped.
  bool is_leaving = false;
  // SecondsLeft of its job, 0 if that is not known: each plan sums it over devices.
  double seconds_left = 0;
};

class LiveAttempts {
 public:
  bool empty() const { return devices_.empty(); }
  // Those on the device, the oldest first. Valid until the next change.
  const std::vector<LiveAttempt>& On(const std::string& device) const;
  // All, the oldest first. Valid until the next change.
  std::vector<const LiveAttempt*> InOrder() const;
  // nullptr if it is not there. Valid until the next change.
  const LiveAttempt* Find(const std::string& device, Fence fence) const;
  // The same for whoever does not know the device: looks at all of them.
  const LiveAttempt* Find(Fence fence) const;
  // REQUIRES: it is there, on that device.
  LiveAttempt& At(const std::string& device, Fence fence);

  // REQUIRES: none with its fence is there.
  void Add(LiveAttempt attempt);
  // REQUIRES: it is there, on that device.
  void Remove(const std::string& device, Fence fence);

 private:
  struct OnDevice {
    std::string device;
    std::vector<LiveAttempt> attempts;  // by fence; not empty
  };
  using Devices = std::vector<OnDevice>;

  // The entry of the device, or where it would be.
  Devices::const_iterator PlaceOf(const std::string& device) const;

  Devices devices_;  // by name
};

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_CORE_LIVE_ATTEMPTS_H_
