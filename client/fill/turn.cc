#include "client/fill/turn.h"

#include <algorithm>

namespace pipefill::sdk {

void Turn::Want(uint64_t estimate_ns) {
  own().estimate_ns.store(estimate_ns, std::memory_order_relaxed);
  if (own().wants.load(std::memory_order_relaxed) == 1) return;
  LimitCredit();
  own().wants.store(1, std::memory_order_seq_cst);
}

void Turn::LimitCredit() {
  const uint32_t others = Others();
  uint64_t most_ns = 0;
  for (uint32_t seat = 0; others >> seat != 0; ++seat) {
    if ((others >> seat & 1) == 0) continue;
    most_ns = std::max(most_ns, page_->seats[seat].served_ns.load(std::memory_order_relaxed));
  }
  if (most_ns < kCreditNs) return;
  if (own().served_ns.load(std::memory_order_relaxed) >= most_ns - kCreditNs) return;
  own().served_ns.store(most_ns - kCreditNs, std::memory_order_relaxed);
}

void Turn::StopWanting() {
  own().wants.store(0, std::memory_order_seq_cst);
  GiveUp();
}

void Turn::OnUnit(uint64_t cpu_ns) {
  const uint64_t served_ns = own().served_ns.load(std::memory_order_relaxed);
  own().served_ns.store(served_ns + cpu_ns, std::memory_order_relaxed);
}

uint32_t Turn::Others() const {
  constexpr uint32_t kAll = (1u << kSeats) - 1;
  return page_->taken.load(std::memory_order_acquire) & kAll & ~(1u << seat_);
}

bool Turn::IsBefore(uint32_t seat) const {
  const TurnSeat& other = page_->seats[seat];
  if (other.wants.load(std::memory_order_acquire) == 0) return false;
  const int32_t rank = own().policy_rank.load(std::memory_order_relaxed);
  const int32_t other_rank = other.policy_rank.load(std::memory_order_relaxed);
  if (other_rank != rank) return other_rank < rank;
  const uint64_t served_ns = own().served_ns.load(std::memory_order_relaxed);
  const uint64_t other_served_ns = other.served_ns.load(std::memory_order_relaxed);
  return served_ns > other_served_ns && served_ns - other_served_ns > kSlackNs;
}

TurnAnswer Turn::TakeUnless(uint32_t better, uint32_t opening) {
  const uint64_t now_ns = better == 0 ? 0 : clock_.NowNs();
  better = WithoutVain(better, now_ns);
  if (is_holding_) {
    is_holding_ = page_->holder.load(std::memory_order_acquire) == word_;
    if (is_holding_ && better == 0) return TurnAnswer::kMine;
    if (is_holding_) Free();
  }
  word_ = page_->holder.load(std::memory_order_seq_cst);
  if (IsFree(word_) && better != 0 && IsToYield(better, {word_, opening}, now_ns)) {
    return TurnAnswer::kYield;
  }
  yield_.reset();
  if (!IsFree(word_)) return TurnAnswer::kTaken;
  const uint32_t mine = TakenWord(word_, seat_);
  if (!page_->holder.compare_exchange_strong(word_, mine, std::memory_order_seq_cst)) {
    return TurnAnswer::kTaken;
  }
  word_ = mine;
  is_holding_ = true;
  return TurnAnswer::kMine;
}

bool Turn::IsKept(uint32_t better) const {
  if (!is_holding_ || page_->holder.load(std::memory_order_acquire) != word_) return false;
  return better == 0 || WithoutVain(better, clock_.NowNs()) == 0;
}

uint32_t Turn::WithoutVain(uint32_t seats, uint64_t now_ns) const {
  for (uint32_t seat = 0; seat < kSeats; ++seat) {
    if (vain_until_ns_[seat] > now_ns) seats &= ~(1u << seat);
  }
  return seats;
}

bool Turn::IsToYield(uint32_t better, const Moment& moment, uint64_t now_ns) {
  if (!yield_.has_value() || yield_->moment != moment) {
    yield_ = {.moment = moment, .since_ns = now_ns};
    return true;
  }
  if (now_ns - yield_->since_ns < kYieldNs) return true;
  for (uint32_t seat = 0; seat < kSeats; ++seat) {
    if ((better >> seat & 1) != 0) vain_until_ns_[seat] = now_ns + kVainNs;
  }
  return false;
}

void Turn::GiveUp() {
  if (is_holding_) Free();
}

void Turn::Free() {
  is_holding_ = false;
  const uint32_t freed = FreedWord(word_);
  if (!page_->holder.compare_exchange_strong(word_, freed, std::memory_order_seq_cst)) return;
  const uint32_t others = Others();
  for (uint32_t seat = 0; others >> seat != 0; ++seat) {
    if ((others >> seat & 1) == 0) continue;
    if (page_->seats[seat].wants.load(std::memory_order_seq_cst) == 0) continue;
    futex_.WakeAll(page_->holder);
    return;
  }
}

WaitResult Turn::Wait(uint64_t timeout_ns) {
  if (!yield_.has_value()) {
    // Free again already.
    if (IsFree(word_)) return WaitResult::kWoken;
    return futex_.Wait(page_->holder, word_, timeout_ns);
  }
  const uint64_t waited_ns = clock_.NowNs() - yield_->since_ns;
  if (waited_ns >= kYieldNs) return WaitResult::kTimedOut;
  return futex_.Wait(page_->holder, yield_->moment.word,
                     std::min(timeout_ns, kYieldNs - waited_ns));
}

}  // namespace pipefill::sdk
