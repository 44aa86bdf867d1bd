#include "client/fill/gate.h"

#include <algorithm>

namespace pipefill::sdk {

void Gate::SetSignal(const SignalPage* signal, uint32_t generation) {
  if (signal == signal_ && generation == generation_) return;
  signal_ = signal;
  generation_ = generation;
  seen_seq_ = 0;
  answered_seq_ = 0;
}

bool Gate::needs_signal() const {
  return window_->signal_generation.load(std::memory_order_acquire) != generation_;
}

GateAnswer Gate::TryStart(uint64_t estimate_ns, UnitRecord* unit) {
  if (signal_ == nullptr || needs_signal()) return GateAnswer::kClosed;
  const SignalView view = ReadSignal(*signal_);
  seen_seq_ = view.seq;
  if (!view.is_open()) return GateAnswer::kClosed;
  const uint64_t start_ns = clock_.NowNs();
  if (!IsOffered(view, start_ns)) return GateAnswer::kClosed;
  const int64_t latest_start_ns = LatestStart(*window_, view.slot, estimate_ns);
  if (latest_start_ns < 0 || start_ns < view.begin_ns ||
      start_ns - view.begin_ns > static_cast<uint64_t>(latest_start_ns)) {
    return Deny(view.seq);
  }
  const uint32_t seq_after = signal_->seq.load(std::memory_order_acquire);
  if (seq_after != view.seq || needs_signal()) return GateAnswer::kClosed;
  answered_seq_ = view.seq;
  *unit = {.start_ns = start_ns,
           .bubble_begin_ns = view.begin_ns,
           .iteration = view.iteration,
           .latest_start_ns = static_cast<uint64_t>(latest_start_ns),
           .estimate_ns = estimate_ns,
           .seq = view.seq,
           .seq_after = seq_after,
           .slot = view.slot,
           .generation = generation_};
  return GateAnswer::kStarted;
}

bool Gate::IsOffered(const SignalView& view, uint64_t now_ns) const {
  if (view.slot >= kBubbleSlots) return false;
  if (window_->entries[view.slot].offered.load(std::memory_order_acquire) == 0) return false;
  return IsFillAllowed(*window_, now_ns, view.iteration);
}

GateAnswer Gate::Deny(uint32_t seq) {
  if (answered_seq_ == seq) return GateAnswer::kClosed;
  answered_seq_ = seq;
  return GateAnswer::kDenied;
}

WaitResult Gate::Wait(uint64_t timeout_ns) {
  if (signal_ == nullptr || needs_signal()) {
    return futex_.Wait(window_->signal_generation,
                       window_->signal_generation.load(std::memory_order_acquire), timeout_ns);
  }
  if (SpinUntilChange(signal_->seq, seen_seq_)) return WaitResult::kWoken;
  return futex_.Wait(signal_->seq, seen_seq_, timeout_ns);
}

bool Gate::SpinUntilChange(const std::atomic<uint32_t>& word, uint32_t expected) const {
  const uint64_t spin_ns = std::min(window_->spin_ns.load(std::memory_order_relaxed), kSpinMaxNs);
  if (spin_ns == 0) return word.load(std::memory_order_acquire) != expected;
  const uint64_t begin_ns = clock_.NowNs();
  do {
    if (word.load(std::memory_order_acquire) != expected) return true;
    futex_.Relax();
  } while (clock_.NowNs() - begin_ns < spin_ns);
  return false;
}

bool Gate::IsStillOpen(const UnitRecord& unit) const {
  return signal_ != nullptr && unit.generation == generation_ &&
         signal_->seq.load(std::memory_order_acquire) == unit.seq;
}

}  // namespace pipefill::sdk
