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
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "common/ids.h"
#include "common/instant.h"

namespace pipefill {

// Names a device in the cluster. Ordered by node, then by name: this is "device order" below.
struct DeviceKey {
  std::string node;
  std::string name;

  friend auto operator<=>(const DeviceKey&, const DeviceKey&) = default;
  template <typename H>
  friend H AbslHashValue(H hash, const DeviceKey& key) {
    return H::combine(std::move(hash), key.node, key.name);
  }
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

// A task on a device, or on its way to it.
struct ResidentTask {
  JobId job;
  int32_t priority = 0;
  int64_t memory_bytes = 0;
  // Its process runs and its user has not forbidden it; from `evictable_at` on.
  bool is_evictable = false;
  Instant evictable_at = {};
  // It is being stopped: what it has will be free.
  bool is_leaving = false;

  friend bool operator==(const ResidentTask&, const ResidentTask&) = default;
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
  // Its node has refused launches lately, and is given none for a while.
  bool is_quarantined = false;
  // Of its time, the share in bubbles that may be filled, and the share that tasks fill now.
  double bubble_share = 0;
  double filled_share = 0;
  // Device time that its tasks still need, as far as that is known.
  double load_seconds = 0;
  std::vector<ResidentTask> residents = {};
  // What waiting jobs have reserved here. Filled in by the planner, from those jobs.
  int held_seats = 0;
  int64_t held_bytes = 0;

  bool has_seat() const { return resident < resident_limit; }

  friend bool operator==(const DeviceSnapshot&, const DeviceSnapshot&) = default;
};

// A place that is kept for a job while the tasks there are being stopped for it.
struct Reservation {
  DeviceKey device;
  Instant until;

  friend bool operator==(const Reservation&, const Reservation&) = default;
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
  // Higher ones go first, whatever the policy.
  int32_t priority = 0;
  std::string tenant = "default";
  // Device time that it still needs; nullopt = not known.
  std::optional<double> seconds_left = std::nullopt;
  std::optional<Instant> deadline = std::nullopt;
  std::optional<Reservation> reserved = std::nullopt;
};

struct TenantSnapshot {
  double weight = 1;
  // Useful device time so far, the older the less.
  double used_seconds = 0;
  // Tasks on devices; the planner adds reservations.
  int resident = 0;
  int resident_max = 0;  // 0 = no limit
  // May go beyond `resident_max` where nobody within their own limits wants the place.
  bool may_borrow = false;

  bool is_full() const { return resident_max > 0 && resident >= resident_max; }

  friend bool operator==(const TenantSnapshot&, const TenantSnapshot&) = default;
};
using TenantMap = absl::btree_map<std::string, TenantSnapshot>;

struct ClusterSnapshot {
  Instant now;
  // Connected ones, in device order, each key once.
  std::vector<DeviceSnapshot> devices;
  // In the order of their ids, which is the order of submission.
  std::vector<PendingJob> pending;
  // A tenant that is missing has no limits.
  TenantMap tenants = {};
};

}  // namespace pipefill

#endif  // PLANNER_SNAPSHOT_H_
