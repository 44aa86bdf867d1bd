// The devices that a StandingPlanner knows, sorted by score, each with the memory that a job could
// have there; and sums over them.
//
// A run tries changes on them, and takes all of them back at its end.
//
// Thread-compatible.
#ifndef PLANNER_KNOWN_DEVICES_H_
#define PLANNER_KNOWN_DEVICES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "common/instant.h"
#include "planner/eviction.h"
#include "planner/feasibility.h"
#include "planner/plan.h"
#include "planner/planner.h"
#include "planner/policy.h"
#include "planner/score_lead.h"
#include "planner/snapshot.h"
#include "planner/sorted_chunks.h"

namespace pipefill {

class KnownDevices {
 public:
  // What a run may change of a device, beside who is leaving.
  struct Load {
    int64_t memory_free_bytes = 0;
    int resident = 0;
    double filled_share = 0;
    double load_seconds = 0;
    int held_seats = 0;
    int64_t held_bytes = 0;
  };
  struct Known {
    DeviceSnapshot device;
    int64_t rank = 0;         // grows in device order
    int64_t free_bytes = -1;  // FreeBytes
    Score score;
    bool is_tried = false;  // some change on it, which Restore takes back
  };
  struct Entry {
    int64_t value = -1;  // free_bytes
    ScoreLead lead;
    int64_t rank = 0;
    Known* known = nullptr;
  };
  struct Before {
    bool operator()(const Entry& a, const Entry& b) const;
  };
  using Order = SortedChunks<Entry, Before>;
  using ByKey = absl::btree_map<DeviceKey, std::unique_ptr<Known>>;

  // The device is connected, as described; held_seats and held_bytes are ignored.
  void Set(DeviceSnapshot device, const Policy& policy);
  // No effect if it is not known.
  void Remove(const DeviceKey& key);
  // Scores all of them again.
  void SetPolicy(const Policy& policy);

  // nullptr if it is not known.
  Known* Find(const DeviceKey& key) const;
  // In device order.
  const ByKey& by_key() const { return by_key_; }
  // The first in the order at `from` or behind it with so much memory; nullptr if there is none.
  Known* FindFree(int64_t bytes, Order::Position* from) const;
  // The most that a job could have anywhere; negative if there is no such device.
  int64_t best_free_bytes() const { return order_.MaxValue(); }
  PlanNumbers Numbers() const;

  // From now on it is `now`. Call before the rest of this group.
  void SetTime(Instant now);
  // The lowest priority of the tasks that may be evicted; nullopt if none may be.
  std::optional<int32_t> lowest_evictable() const;
  // When the first task will be old enough to be evicted for that priority, of those that are not
  // yet.
  std::optional<Instant> NextEvictable(int32_t priority) const;

  // --- Trying ---

  // `change` takes a DeviceSnapshot* and changes nothing but what is in Load.
  template <typename Change>
  void Try(Known* known, const Policy& policy, const Change& change) {
    Note(known);
    const int resident = known->device.resident;
    change(&known->device);
    resident_ += IsFilled(known->device) ? known->device.resident - resident : 0;
    Place(known, FullScore(known->device, policy));
  }
  void TryEviction(Known* known, const Policy& policy, const PendingJob& job,
                   const EvictionChoice& choice);
  void Restore();

 private:
  struct Tried {
    Known* known = nullptr;
    Load load;
    Score score;
  };
  static bool IsFilled(const DeviceSnapshot& device) {
    return device.main_job == MainJobUse::kFilled;
  }
  static Entry EntryOf(Known* known);
  // The entry of a device that is new, in between its neighbours.
  Known* Add(const DeviceKey& key);
  // Makes room between the ranks.
  void RankAnew();
  // Keeps what the device is before the first change on it.
  void Note(Known* known);
  // Puts it where it belongs, by `score` and its memory.
  void Place(Known* known, Score score);
  void AddToSums(const DeviceSnapshot& device, int sign);
  void AddBudget(const DeviceSnapshot& device);
  void RemoveBudget(const DeviceSnapshot& device);
  void CountTask(const ResidentTask& task, int sign);

  ByKey by_key_;
  absl::flat_hash_map<DeviceKey, Known*> index_;
  Order order_;
  std::vector<Tried> tried_;
  std::vector<std::pair<Known*, size_t>> tried_victims_;
  int devices_filled_ = 0;
  int devices_measured_ = 0;
  int devices_quarantined_ = 0;
  int resident_ = 0;
  int resident_limit_ = 0;
  // Budgets of devices with a main job to fill, the largest first.
  absl::btree_set<std::pair<int64_t, DeviceKey>> budgets_;
  // Tasks that may be evicted by priority: at now_, and later, by when. None that leaves already,
  // and none where no room can be made.
  Instant now_;
  absl::btree_map<int32_t, size_t> evictable_;
  absl::btree_map<int32_t, absl::btree_map<Instant, size_t>> evictable_later_;
};

}  // namespace pipefill

#endif  // PLANNER_KNOWN_DEVICES_H_
