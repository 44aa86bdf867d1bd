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

bool Gate::is_off() const {
  return window_->mode.load(std::memory_order_acquire) != static_cast<uint32_t>(FillMode::kFill);
}

std::optional<Opening> Gate::Look() {
  early_ns_ = 0;
  if (signal_ == nullptr || needs_signal()) return std::nullopt;
  Opening opening = {.view = ReadSignal(*signal_)};
  seen_seq_ = opening.view.seq;
  const bool is_open = opening.view.is_open();
  if (!is_open && window_->failure_begin_ns.load(std::memory_order_acquire) == 0) {
    return std::nullopt;
  }
  opening.now_ns = clock_.NowNs();
  if (LookForFailure(&opening)) return opening;
  opening.begin_ns = opening.view.begin_ns;
  if (!is_open || !IsOffered(opening.view, opening.now_ns)) return std::nullopt;
  early_ns_ = EarlyNs(opening);
  if (early_ns_ > 0) return std::nullopt;
  return opening;
}

// agentd writes begin last and takes it back first, so what lies between two equal looks at it
// belongs to it.
bool Gate::LookForFailure(Opening* opening) const {
  const uint64_t begin_ns = window_->failure_begin_ns.load(std::memory_order_acquire);
  if (begin_ns == 0 || begin_ns > opening->now_ns) return false;
  const uint32_t seq = window_->failure_seq.load(std::memory_order_acquire);
  const uint64_t unit_max_ns = window_->failure_unit_max_ns.load(std::memory_order_acquire);
  if (window_->failure_begin_ns.load(std::memory_order_acquire) != begin_ns) return false;
  if (seq != opening->view.seq || !IsFillOn(*window_, opening->now_ns)) return false;
  opening->is_failure = true;
  opening->begin_ns = begin_ns;
  opening->failure_unit_max_ns = unit_max_ns;
  return true;
}

int64_t Gate::LatestStartIn(const Opening& opening, uint64_t length_ns) const {
  if (opening.now_ns < opening.begin_ns) return kNever;
  const uint64_t offset_ns = opening.now_ns - opening.begin_ns;
  if (offset_ns > static_cast<uint64_t>(INT64_MAX)) return kNever;
  const auto offset = static_cast<int64_t>(offset_ns);
  if (opening.is_failure) return length_ns <= opening.failure_unit_max_ns ? offset : kNever;
  const int64_t latest_ns = LatestStart(*window_, opening.view.slot, length_ns);
  return offset <= latest_ns ? latest_ns : kNever;
}

GateAnswer Gate::Start(const Opening& opening, uint64_t estimate_ns, UnitRecord* unit) {
  const SignalView& view = opening.view;
  const int64_t latest_start_ns = LatestStartIn(opening, estimate_ns);
  if (latest_start_ns < 0) return Deny(view.seq);
  const uint32_t seq_after = signal_->seq.load(std::memory_order_acquire);
  if (seq_after != view.seq || needs_signal()) return GateAnswer::kClosed;
  answered_seq_ = view.seq;
  *unit = {.start_ns = opening.now_ns,
           .bubble_begin_ns = opening.begin_ns,
           .iteration = view.iteration,
           .latest_start_ns = static_cast<uint64_t>(latest_start_ns),
           .estimate_ns = estimate_ns,
           .seq = view.seq,
           .seq_after = seq_after,
           .slot = opening.is_failure ? kFailureSlot : view.slot,
           .generation = generation_};
  return GateAnswer::kStarted;
}

bool Gate::IsOffered(const SignalView& view, uint64_t now_ns) const {
  if (view.slot >= kBubbleSlots) return false;
  if (window_->entries[view.slot].offered.load(std::memory_order_acquire) == 0) return false;
  return IsFillAllowed(*window_, now_ns, view.iteration);
}

uint64_t Gate::EarlyNs(const Opening& opening) const {
  const int64_t earliest_ns =
      window_->entries[opening.view.slot].earliest_start_ns.load(std::memory_order_acquire);
  if (earliest_ns <= 0 || opening.now_ns < opening.begin_ns) return 0;
  const uint64_t offset_ns = opening.now_ns - opening.begin_ns;
  const auto earliest = static_cast<uint64_t>(earliest_ns);
  return offset_ns < earliest ? earliest - offset_ns : 0;
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
  if (early_ns_ > 0) return futex_.Wait(signal_->seq, seen_seq_, std::min(early_ns_, timeout_ns));
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

WaitResult Gate::WaitWhileOpen(const UnitRecord& unit, uint64_t timeout_ns) {
  if (!IsStillOpen(unit)) return WaitResult::kWoken;
  return futex_.Wait(signal_->seq, unit.seq, timeout_ns);
}

bool Gate::IsStillOpen(const UnitRecord& unit) const {
  if (signal_ == nullptr || unit.generation != generation_) return false;
  if (signal_->seq.load(std::memory_order_acquire) != unit.seq) return false;
  return unit.slot != kFailureSlot ||
         window_->failure_begin_ns.load(std::memory_order_acquire) == unit.bubble_begin_ns;
}

}  // namespace pipefill::sdk
