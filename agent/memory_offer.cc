#include "agent/memory_offer.h"

#include <algorithm>
#include <vector>

namespace pipefill {

void MemoryOffer::OnReading(int64_t used_bytes) {
  readings_.push_back(used_bytes);
  if (readings_.size() > kReadingsKept) readings_.pop_front();
}

int64_t MemoryOffer::ReservedBytes(int64_t used_bytes) const {
  std::vector<int64_t> readings(readings_.begin(), readings_.end());
  readings.push_back(used_bytes);
  const size_t rank = (95 * readings.size() + 99) / 100 - 1;  // ceil(0.95 n), from 0
  const auto place = readings.begin() + static_cast<std::ptrdiff_t>(rank);
  std::nth_element(readings.begin(), place, readings.end());
  const int64_t most_bytes = std::max(*place, used_bytes);
  return most_bytes + most_bytes / kHeadRoomPart;
}

}  // namespace pipefill
