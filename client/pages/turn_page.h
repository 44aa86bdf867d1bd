// The turn page: which of the fill tasks on one device may run a unit now.
//
// agentd makes one per device. All fill tasks of the device map it for writing, and so does agentd;
// no rank ever sees it. A task owns a seat in it. Whatever somebody writes here can only change the
// order among fill tasks: whether a unit may start at all hangs on the signal and the window page,
// which they cannot write. Every value is input.
//
//                    Take: one compare and swap
//   free (turn n) ------------------------------> held by seat s (turn n + 1)
//        ^                                             |
//        +---- the holder gives it up; or agentd, -----+
//              when the holder is gone or stuck
//
// `holder` is the futex word. It counts turns, so a turn that was taken away cannot be given up
// later, and agentd knows whether it has looked at one turn twice or at two.
//
// Who waits for the turn raises `wants` of its seat first and looks at `holder` then; who gives it
// up stores `holder` first and looks at `wants` then. All four are sequentially consistent, so a
// wake is never lost.
//
// Thread-safe.
#ifndef CLIENT_PAGES_TURN_PAGE_H_
#define CLIENT_PAGES_TURN_PAGE_H_

#include "client/pages/page_layout.h"
#include "client/pages/signal_page.h"

namespace pipefill {

inline constexpr uint32_t kSeats = 8;
inline constexpr uint32_t kNoSeat = kSeats;

struct TurnSeat {
  // Written by the seat's task, and taken back by agentd: 1 = it would start a unit now if it
  // could.
  PageField<uint32_t> wants;
  // Written by agentd. The lower rank goes first.
  PageField<int32_t> policy_rank;
  PageField<uint64_t> estimate_ns;  // of the smallest unit that it wants
  // CPU time of its units, and what agentd gave it on entering so that it starts level with the
  // others.
  PageField<uint64_t> served_ns;
  // Written by agentd: bits of kOrder*.
  PageField<uint32_t> orders;
  uint32_t padding;
  // Written by agentd, one bit a slot: bubbles that are closed to this task alone.
  PageField<uint64_t> closed_slots[kBubbleSlots / 64];
};
static_assert(offsetof(TurnSeat, orders) == 24);
static_assert(sizeof(TurnSeat) == 64);

// The task should save what it has as soon as it can.
inline constexpr uint32_t kOrderSave = 1;

// REQUIRES: slot < kBubbleSlots.
inline bool IsClosedTo(const TurnSeat& seat, uint32_t slot) {
  return (seat.closed_slots[slot / 64].load(std::memory_order_relaxed) >> slot % 64 & 1) != 0;
}

struct TurnPage {
  PageHeader header;
  PageField<uint32_t> holder;  // TurnWord
  PageField<uint32_t> taken;   // written by agentd: bit s = seat s belongs to a task
  uint64_t padding[5];
  TurnSeat seats[kSeats];
};
static_assert(offsetof(TurnPage, holder) == 16);
static_assert(offsetof(TurnPage, seats) == 64);
static_assert(sizeof(TurnPage) == 64 * (1 + kSeats));

// The low four bits of `holder`: 0 = free, else seat + 1. The others: the number of the turn.
inline constexpr uint32_t kTurnSeatBits = 4;
constexpr uint32_t HolderOf(uint32_t word) {
  const uint32_t low = word & ((1u << kTurnSeatBits) - 1);
  return low == 0 || low > kSeats ? kNoSeat : low - 1;
}
constexpr bool IsFree(uint32_t word) { return (word & ((1u << kTurnSeatBits) - 1)) == 0; }
constexpr uint32_t FreedWord(uint32_t word) { return word >> kTurnSeatBits << kTurnSeatBits; }
// The next turn, held by `seat`.
constexpr uint32_t TakenWord(uint32_t word, uint32_t seat) {
  return ((word >> kTurnSeatBits) + 1) << kTurnSeatBits | (seat + 1);
}

}  // namespace pipefill

#endif  // CLIENT_PAGES_TURN_PAGE_H_
