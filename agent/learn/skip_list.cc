#include "agent/learn/skip_list.h"

#include <algorithm>

namespace pipefill {

bool SkipList::OnUnit(uint32_t slot_index, const UnitOverrun& unit) {
  Slot& slot = slots_[slot_index];
  // One that was under way when the slot was closed.
  if (slot.to_skip > 0) return false;
  ++slot.units;
  slot.cpu_ns += unit.cpu_ns;
  slot.overrun_ns += unit.overrun_ns;
  if (slot.units < kSkipUnits) return false;
  const bool is_bad =
      static_cast<double>(slot.overrun_ns) > kSkipShare * static_cast<double>(slot.cpu_ns);
  slot.units = slot.cpu_ns = slot.overrun_ns = 0;
  if (!is_bad) {
    slot.next_skip = kSkipBubbles;
    return false;
  }
  slot.to_skip = slot.next_skip;
  slot.next_skip = std::min(2 * slot.next_skip, kSkipBubblesMax);
  return true;
}

bool SkipList::OnBubble(uint32_t slot_index) {
  const auto found = slots_.find(slot_index);
  if (found == slots_.end() || found->second.to_skip == 0) return false;
  ++bubbles_skipped_;
  return --found->second.to_skip == 0;
}

bool SkipList::IsClosed(uint32_t slot_index) const {
  const auto found = slots_.find(slot_index);
  return found != slots_.end() && found->second.to_skip > 0;
}

}  // namespace pipefill
