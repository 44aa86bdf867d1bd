#include "client/main_job/bubble_names.h"

namespace pipefill::sdk {

BubbleNames::Found BubbleNames::FindOrAdd(uint32_t name) {
  // Multiplicative hash; ordinals are small and dense.
  size_t entry = (name * 2654435761u >> 16) % kTableSize;
  while (slots_plus_1_[entry] != 0) {
    const uint32_t slot = slots_plus_1_[entry] - 1u;
    if (names_[slot] == name) return {.slot = slot, .is_new = false};
    entry = (entry + 1) % kTableSize;
  }
  const bool is_scattered = name >> 24 == static_cast<uint32_t>(BubbleClass::kScattered);
  if (used_ >= kBubbleSlots - (is_scattered ? kSlotsReserved : 0)) return {};
  const uint32_t slot = used_++;
  names_[slot] = name;
  slots_plus_1_[entry] = static_cast<uint16_t>(slot + 1);
  return {.slot = slot, .is_new = true};
}

}  // namespace pipefill::sdk
