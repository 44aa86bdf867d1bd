// Gives every (class, ordinal) of a rank its slot in the pages: slots are numbered in the order in
// which names appear first, and never change. The last kSlotsReserved are not for scattered
// bubbles: those are many and short, and a long schedule of them must not leave head, middle and
// tail without one. Looking up allocates nothing.
//
// Pure.
#ifndef CLIENT_MAIN_JOB_BUBBLE_NAMES_H_
#define CLIENT_MAIN_JOB_BUBBLE_NAMES_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "client/pages/signal_page.h"

namespace pipefill::sdk {

inline constexpr uint32_t kSlotsReserved = 16;

class BubbleNames {
 public:
  struct Found {
    uint32_t slot = kNoSlot;  // kNoSlot: all that it may have belong to other names
    bool is_new = false;      // it was given out by this call
  };

  // `name` as made by PackBubbleName; never 0.
  Found FindOrAdd(uint32_t name);

  // Slots [0, used()) have names.
  uint32_t used() const { return used_; }
  uint32_t name_of(uint32_t slot) const { return names_[slot]; }

 private:
  // Open addressing at half load: a probe is short even when all slots are in use.
  static constexpr size_t kTableSize = 2 * kBubbleSlots;

  std::array<uint32_t, kBubbleSlots> names_ = {};       // by slot
  std::array<uint16_t, kTableSize> slots_plus_1_ = {};  // by hash of the name; 0 = free
  uint32_t used_ = 0;
};

}  // namespace pipefill::sdk

#endif  // CLIENT_MAIN_JOB_BUBBLE_NAMES_H_
