// Which job filled which device when: of a few devices, what a picture of a run shows.
//
// Thread-compatible.
#ifndef SIMULATOR_CLUSTER_SWIM_LANES_H_
#define SIMULATOR_CLUSTER_SWIM_LANES_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "common/ids.h"
#include "common/instant.h"

namespace pipefill::simulator {

// An attempt on the lane's device; seconds from the beginning of the run, half open.
struct LaneSpan {
  JobId job;
  std::string job_class;
  double begin_s = 0;
  double end_s = 0;  // the attempt may go on after the last one that is kept
};

struct Lane {
  std::string device;
  int stage = 0;
  std::vector<LaneSpan> spans;  // by begin
};

inline constexpr size_t kLanesMax = 16;
// Of all lanes together.
inline constexpr size_t kLaneSpansMax = 4000;

// Keeps the attempts of the lanes that it was made with.
class SwimLanes {
 public:
  SwimLanes(std::vector<Lane> lanes, Instant start) : lanes_(std::move(lanes)), start_(start) {}

  // The times of `attempt` are set here. Attempts on other devices, and those beyond kLaneSpansMax,
  // are left out.
  void Begin(Fence fence, const std::string& device, LaneSpan attempt, Instant now);
  void End(Fence fence, Instant now);
  // Attempts that still run last until `now`.
  std::vector<Lane> Lanes(Instant now) const;

 private:
  struct Place {
    size_t lane = 0;
    size_t span = 0;
  };

  double SecondsAt(Instant now) const { return absl::ToDoubleSeconds(now - start_); }

  std::vector<Lane> lanes_;
  const Instant start_;
  absl::btree_map<Fence, Place> open_;
  size_t spans_ = 0;
};

}  // namespace pipefill::simulator

#endif  // SIMULATOR_CLUSTER_SWIM_LANES_H_
