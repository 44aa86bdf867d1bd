// What the planner sees: all devices and all waiting jobs at one moment. It never changes while a
// plan is made, and holds everything a decision may depend on, the time included.
//
// Pure.
#ifndef PLANNER_SNAPSHOT_H_
#define PLANNER_SNAPSHOT_H_

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/ids.h"
#include "common/instant.h"

namespace pipefill {

// Names a device in the cluster. Ordered by node, then by name: this is "device order" below.
struct DeviceKey {
  std::string node;
  std::string name;

  friend auto operator<=>(const DeviceKey&, const DeviceKey&) = default;
};

// What the main job on a device allows.
enum class MainJobUse {
  kNone,      // no main job is attached
  kMeasured,  // attached, but its bubbles are only measured, or not even that
  kFilled,    // attached, and its bubbles may be filled
};

// What a configuration of a job asks of bubbles.
struct UnitNeed {
  int64_t unit_ns = 0;         // its longest unit, as a gate reckons
  int64_t resident_bytes = 0;  // held all the time
  int64_t peak_bytes = 0;      // while the unit with the most memory runs

  friend bool operator==(const UnitNeed&, const UnitNeed&) = default;
};

// What the bubbles of a device take.
struct BubbleRoom {
  int64_t longest_unit_ns = 0;      // that may start in one of them
  int64_t least_bytes = INT64_MAX;  // that the main job leaves free in each of them
  int64_t most_bytes = INT64_MAX;   // that it leaves free in one of them

  friend bool operator==(const BubbleRoom&, const BubbleRoom&) = default;
};

struct DeviceSnapshot {
  DeviceKey key;
  // Budget for the main rank and all tasks together, and what is left of it for a further task.
  int64_t memory_bytes = 0;
  int64_t memory_free_bytes = 0;
  // Tasks that are on the device or on their way to it.
  int resident = 0;
  int resident_limit = 0;
  MainJobUse main_job = MainJobUse::kNone;
  // nullopt: its bubbles are not learned yet, and may take anything.
  std::optional<BubbleRoom> room = std::nullopt;

  bool has_seat() const { return resident < resident_limit; }
};

struct PendingJob {
  JobId id;
  int64_t memory_bytes = 0;
  // After a failed attempt: not to be placed earlier.
  std::optional<Instant> not_before;
  // Where a user wants it: it goes there if it fits there now, and else anywhere.
  std::optional<DeviceKey> preferred = std::nullopt;
  // One for each configuration of its profile: it goes only where one of them fits. nullptr:
  // nothing is known, so it may go anywhere. Never empty.
  std::shared_ptr<const std::vector<UnitNeed>> needs = nullptr;
};

struct ClusterSnapshot {
  Instant now;
  // Connected ones, in device order, each key once.
  std::vector<DeviceSnapshot> devices;
  // In the order of their ids, which is the order of submission.
  std::vector<PendingJob> pending;
};

}  // namespace pipefill

#endif  // PLANNER_SNAPSHOT_H_
