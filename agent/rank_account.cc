#include "agent/rank_account.h"

#include <algorithm>
#include <limits>

#include "client/pages/unit_split.h"
#include "common/check.h"

namespace pipefill {
namespace {

constexpr size_t kIterationsKept = 64;
// Ends of bubbles: later than any unit, earlier than any unit.
constexpr int64_t kNeverSeenToEnd = std::numeric_limits<int64_t>::max();
constexpr int64_t kNeverSeenToBegin = std::numeric_limits<int64_t>::min();

int64_t ToSigned(uint64_t value) {
  return static_cast<int64_t>(
      std::min(value, static_cast<uint64_t>(std::numeric_limits<int64_t>::max())));
}

// Numbers of units come from tasks, and may be as large as they like.
void AddTo(int64_t& sum, int64_t value) {
  if (__builtin_add_overflow(sum, value, &sum)) sum = std::numeric_limits<int64_t>::max();
}

}  // namespace

RankAccount::RankAccount(const HoldOut& hold_out)
    : hold_out_(hold_out), iteration_lengths_(kIterationsKept), bubbles_(kBubbleSlots) {}

void RankAccount::OnAttached(uint32_t generation) {
  CHECK(!is_attached_);
  is_attached_ = true;
  generation_ = generation;
  last_seq_ = 0;
  rank_ = {};
  iteration_lengths_ = RecentValues(kIterationsKept);
  iteration_begin_.reset();
  bubbles_.assign(kBubbleSlots, {});
}

void RankAccount::OnDetached(Instant now) {
  CHECK(is_attached_);
  if (open_.has_value()) CloseBubble(std::max(now.ns(), open_->begin_ns));
  iteration_begin_.reset();
  is_attached_ = false;
  SettleWaiting();
}

EdgeEffect RankAccount::OnEdge(const EdgeEvent& edge, bool is_offered) {
  CHECK(is_attached_);
  EdgeEffect effect;
  switch (edge.kind) {
    case EdgeKind::kIterationBegin:
      ++rank_.iterations;
      if (iteration_begin_.has_value()) ++rank_.unmatched;
      iteration_begin_ = edge;
      break;
    case EdgeKind::kIterationEnd:
      EndIteration(edge);
      break;
    case EdgeKind::kBubbleBegin:
      BeginBubble(edge, is_offered);
      break;
    case EdgeKind::kBubbleEnd:
      effect.closed = EndBubble(edge);
      break;
    case EdgeKind::kMemoryHint:
      if (open_.has_value() && open_->slot < kBubbleSlots) effect.hinted_slot = open_->slot;
      break;
    case EdgeKind::kChunkBegin:
    case EdgeKind::kChunkEnd:
      break;
  }
  return effect;
}

void RankAccount::OnEdgesDropped(uint64_t count) {
  if (count == 0) return;
  rank_.edges_dropped = ToSigned(static_cast<uint64_t>(rank_.edges_dropped) + count);
  iteration_begin_.reset();
  if (open_.has_value()) AbandonBubble();
}

void RankAccount::EndIteration(const EdgeEvent& edge) {
  const std::optional<EdgeEvent> begin = std::exchange(iteration_begin_, std::nullopt);
  if (!begin.has_value() || begin->iteration != edge.iteration || edge.time_ns < begin->time_ns) {
    ++rank_.unmatched;
    return;
  }
  const int64_t length_ns = ToSigned(edge.time_ns - begin->time_ns);
  rank_.iteration_ns += length_ns;
  iteration_lengths_.Add(length_ns);
}

void RankAccount::BeginBubble(const EdgeEvent& edge, bool is_offered) {
  if (open_.has_value()) {
    ++rank_.unmatched;
    AbandonBubble();
  }
  last_seq_ = edge.seq;
  open_ = {.seq = edge.seq,
           .slot = edge.slot,
           .begin_ns = ToSigned(edge.time_ns),
           .iteration = edge.iteration,
           .is_offered = is_offered && !IsHeldOut(hold_out_, edge.iteration)};
}

std::optional<ClosedBubble> RankAccount::EndBubble(const EdgeEvent& edge) {
  last_seq_ = edge.seq;
  if (!open_.has_value() || edge.seq != open_->seq + 1 ||
      ToSigned(edge.time_ns) < open_->begin_ns) {
    ++rank_.unmatched;
    if (open_.has_value()) AbandonBubble();
    SettleWaiting();
    return std::nullopt;
  }
  const ClosedBubble closed = CloseBubble(ToSigned(edge.time_ns));
  SettleWaiting();
  return closed;
}

ClosedBubble RankAccount::CloseBubble(int64_t end_ns) {
  const ClosedBubble closed = {.slot = open_->slot,
                               .iteration = open_->iteration,
                               .begin_ns = open_->begin_ns,
                               .length_ns = end_ns - open_->begin_ns};
  rank_.bubble_ns += closed.length_ns;
  if (closed.slot < kBubbleSlots) {
    BubbleTotals& totals = bubbles_[closed.slot];
    ++totals.count;
    totals.bubble_ns += closed.length_ns;
    if (open_->is_offered) totals.offered_ns += closed.length_ns;
  }
  RememberOpen(end_ns);
  return closed;
}

void RankAccount::AbandonBubble() {
  RememberOpen(kNeverSeenToEnd);
  SettleWaiting();
}

void RankAccount::RememberOpen(int64_t end_ns) {
  if (past_.size() >= kClosedBubblesKept) past_.pop_front();
  past_.push_back({.generation = generation_,
                   .seq = open_->seq,
                   .begin_ns = open_->begin_ns,
                   .end_ns = end_ns});
  open_.reset();
}

void RankAccount::OnUnit(int32_t task_key, const UnitRecord& unit) {
  TaskTotals& totals = tasks_[task_key];
  ++totals.units;
  AddTo(totals.unit_cpu_ns, ToSigned(unit.cpu_ns));
  const WaitingUnit waiting = {.task_key = task_key, .unit = unit};
  if (TrySettle(waiting)) return;
  waiting_.push_back(waiting);
  if (waiting_.size() > kWaitingUnitsMax) {
    Settle(waiting_.front(), kNeverSeenToEnd);
    waiting_.pop_front();
  }
}

void RankAccount::ForgetTask(int32_t task_key) { tasks_.erase(task_key); }

void RankAccount::SettleWaiting() {
  std::erase_if(waiting_, [this](const WaitingUnit& waiting) { return TrySettle(waiting); });
}

bool RankAccount::TrySettle(const WaitingUnit& waiting) {
  if (IsOpenOrToCome(waiting.unit)) return false;
  const PastBubble* past = FindPast(waiting.unit);
  Settle(waiting, past == nullptr ? kNeverSeenToBegin : past->end_ns);
  return true;
}

bool RankAccount::IsOpenOrToCome(const UnitRecord& unit) const {
  if (!is_attached_ || unit.generation != generation_) return false;
  if (open_.has_value() && open_->seq == unit.seq) {
    return open_->begin_ns == ToSigned(unit.bubble_begin_ns);
  }
  // Signed, because seq wraps around.
  return static_cast<int32_t>(unit.seq - last_seq_) > 0;
}

void RankAccount::Settle(const WaitingUnit& waiting, int64_t bubble_end_ns) {
  const UnitRecord& unit = waiting.unit;
  const UnitSplit split = SplitUnit(ToSigned(unit.start_ns), ToSigned(unit.end_ns),
                                    ToSigned(unit.cpu_ns), bubble_end_ns);
  if (unit.generation == generation_ && unit.slot < kBubbleSlots) {
    AddTo(bubbles_[unit.slot].filled_ns, split.in_bubble_ns);
    AddTo(bubbles_[unit.slot].overrun_ns, split.overrun_ns);
  }
  const auto task = tasks_.find(waiting.task_key);
  if (task != tasks_.end()) AddTo(task->second.overrun_ns, split.overrun_ns);
}

const RankAccount::PastBubble* RankAccount::FindPast(const UnitRecord& unit) const {
  const auto found = std::find_if(past_.rbegin(), past_.rend(), [&](const PastBubble& past) {
    return past.generation == unit.generation && past.seq == unit.seq &&
           past.begin_ns == ToSigned(unit.bubble_begin_ns);
  });
  return found == past_.rend() ? nullptr : &*found;
}

RankTotals RankAccount::rank() const {
  RankTotals totals = rank_;
  totals.iteration_p50_ns = iteration_lengths_.Quantile(0.5);
  return totals;
}

const BubbleTotals& RankAccount::bubble(uint32_t slot) const {
  CHECK(slot < kBubbleSlots);
  return bubbles_[slot];
}

TaskTotals RankAccount::task(int32_t task_key) const {
  const auto task = tasks_.find(task_key);
  if (task == tasks_.end()) return {};
  TaskTotals totals = task->second;
  totals.in_bubble_ns = totals.unit_cpu_ns - totals.overrun_ns;
  return totals;
}

}  // namespace pipefill
