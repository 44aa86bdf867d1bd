#include "agent/turn_board.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "agent/page_writer.h"
#include "common/check.h"
#include "common/status.h"

namespace pipefill {

absl::StatusOr<std::unique_ptr<TurnBoard>> TurnBoard::Create() {
  ASSIGN_OR_RETURN(SealedPage page, MakeTurnPage());
  return std::unique_ptr<TurnBoard>(new TurnBoard(std::move(page)));
}

std::optional<uint32_t> TurnBoard::TakeSeat(int32_t policy_rank) {
  const auto seat = static_cast<uint32_t>(std::countr_one(taken_));
  if (seat >= kSeats) return std::nullopt;
  uint64_t least_ns = taken_ == 0 ? 0 : std::numeric_limits<uint64_t>::max();
  for (uint32_t other = 0; other < kSeats; ++other) {
    if ((taken_ >> other & 1) == 0) continue;
    least_ns = std::min(least_ns, turns().seats[other].served_ns.load(std::memory_order_relaxed));
  }
  TurnSeat& entry = turns().seats[seat];
  entry.wants.store(0, std::memory_order_relaxed);
  entry.policy_rank.store(policy_rank, std::memory_order_relaxed);
  entry.estimate_ns.store(0, std::memory_order_relaxed);
  entry.served_ns.store(least_ns, std::memory_order_relaxed);
  entry.orders.store(0, std::memory_order_relaxed);
  for (PageField<uint64_t>& slots : entry.closed_slots) slots.store(0, std::memory_order_relaxed);
  taken_ |= 1u << seat;
  turns().taken.store(taken_, std::memory_order_release);
  return seat;
}

void TurnBoard::LeaveSeat(uint32_t seat) {
  CHECK(seat < kSeats);
  taken_ &= ~(1u << seat);
  turns().taken.store(taken_, std::memory_order_release);
  turns().seats[seat].wants.store(0, std::memory_order_seq_cst);
  const uint32_t word = turns().holder.load(std::memory_order_acquire);
  if (HolderOf(word) == seat) TakeAway(word);
}

void TurnBoard::SetClosed(uint32_t seat, uint32_t slot, bool is_closed) {
  CHECK(seat < kSeats && slot < kBubbleSlots);
  PageField<uint64_t>& slots = turns().seats[seat].closed_slots[slot / 64];
  const uint64_t bit = uint64_t{1} << slot % 64;
  if (is_closed) {
    slots.fetch_or(bit, std::memory_order_relaxed);
  } else {
    slots.fetch_and(~bit, std::memory_order_relaxed);
  }
}

void TurnBoard::OrderSave(uint32_t seat, bool is_ordered) {
  CHECK(seat < kSeats);
  turns().seats[seat].orders.store(is_ordered ? kOrderSave : 0, std::memory_order_release);
}

void TurnBoard::Watch(Instant now, absl::FunctionRef<bool(uint32_t seat)> is_running) {
  // Nobody but agentd may seat tasks.
  turns().taken.store(taken_, std::memory_order_release);
  const uint32_t word = turns().holder.load(std::memory_order_acquire);
  const bool is_new = word != word_;
  word_ = word;
  if (IsFree(word)) return;
  const uint32_t seat = HolderOf(word);
  if (seat == kNoSeat || (taken_ >> seat & 1) == 0) return TakeAway(word);
  // With one task there is nobody to whom the turn could go.
  if (is_new || std::popcount(taken_) < 2 || is_running(seat)) running_at_ = now;
  if (now - running_at_ <= kStuckAfter) return;
  turns().seats[seat].wants.store(0, std::memory_order_seq_cst);
  TakeAway(word);
}

void TurnBoard::TakeAway(uint32_t word) {
  if (!turns().holder.compare_exchange_strong(word, FreedWord(word), std::memory_order_seq_cst)) {
    return;
  }
  ++turns_taken_away_;
  WakeAll(turns().holder);
}

}  // namespace pipefill
