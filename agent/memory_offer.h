// How much memory of a device may be given to tasks, beside a main job whose need comes and goes.
//
// The main job's share is the most that it mostly needs, not what it needs at this moment: the 95th
// percentile of the readings of the last minute or so, and an eighth of it as head-room for what
// was not seen yet. So an offer is from the low quantile of what was free.
//
// Pure.
#ifndef AGENT_MEMORY_OFFER_H_
#define AGENT_MEMORY_OFFER_H_

#include <cstddef>
#include <cstdint>
#include <deque>

namespace pipefill {

class MemoryOffer {
 public:
  static constexpr size_t kReadingsKept = 64;
  static constexpr int64_t kHeadRoomPart = 8;

  // The main job's use, about once a second.
  void OnReading(int64_t used_bytes);
  // Of the main job, with `used_bytes` as its use now.
  int64_t ReservedBytes(int64_t used_bytes) const;

 private:
  std::deque<int64_t> readings_;  // oldest first
};

}  // namespace pipefill

#endif  // AGENT_MEMORY_OFFER_H_
