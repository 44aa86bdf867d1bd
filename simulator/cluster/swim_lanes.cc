#include "simulator/cluster/swim_lanes.h"

#include <algorithm>
#include <utility>

namespace pipefill::simulator {

void SwimLanes::Begin(Fence fence, const std::string& device, LaneSpan attempt, Instant now) {
  const auto lane = std::find_if(lanes_.begin(), lanes_.end(),
                                 [&](const Lane& one) { return one.device == device; });
  if (lane == lanes_.end() || spans_ == kLaneSpansMax) return;
  ++spans_;
  open_[fence] = {static_cast<size_t>(lane - lanes_.begin()), lane->spans.size()};
  attempt.begin_s = attempt.end_s = SecondsAt(now);
  lane->spans.push_back(std::move(attempt));
}

void SwimLanes::End(Fence fence, Instant now) {
  const auto open = open_.find(fence);
  if (open == open_.end()) return;
  lanes_[open->second.lane].spans[open->second.span].end_s = SecondsAt(now);
  open_.erase(open);
}

std::vector<Lane> SwimLanes::Lanes(Instant now) const {
  std::vector<Lane> lanes = lanes_;
  for (const auto& [fence, place] : open_) {
    lanes[place.lane].spans[place.span].end_s = SecondsAt(now);
  }
  return lanes;
}

}  // namespace pipefill::simulator
