#include "agent/rank_account.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "client/pages/unit_split.h"
#include "client/pages/window_page.h"
#include "common/check.h"

namespace pipefill {
namespace {

constexpr size_t kIterationsKept = 64;
constexpr size_t kFailuresKept = 64;
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
  is_iteration_broken_ = false;
  may_miss_bubble_begin_ = false;
  may_miss_iteration_begin_ = false;
  bubbles_.assign(kBubbleSlots, {});
  failures_ = {};
}

void RankAccount::OnDetached(Instant now) {
  CHECK(is_attached_);
  CloseAll(now);
  is_attached_ = false;
  SettleWaiting();
}

void RankAccount::OnFailureBegan(Instant now) {
  CHECK(is_attached_ && !failure_begin_ns_.has_value());
  failure_begin_ns_ = now.ns();
  is_iteration_broken_ = iteration_begin_.has_value();
  iteration_begin_.reset();
  if (!open_.has_value()) return;
  const int64_t until_ns = std::max(now.ns(), open_->begin_ns);
  CountOffered(until_ns, open_->iteration);
  open_->offered_since_ns.reset();
  open_->has_window = false;
  open_->counted_until_ns = until_ns;
}

void RankAccount::OnFailureEnded(Instant now) {
  CHECK(failure_begin_ns_.has_value());
  const PastFailure past = {.generation = generation_,
                            .begin_ns = *failure_begin_ns_,
                            .end_ns = std::max(now.ns(), *failure_begin_ns_)};
  failure_begin_ns_.reset();
  if (past_failures_.size() >= kFailuresKept) past_failures_.pop_front();
  past_failures_.push_back(past);
  ++failures_.count;
  failures_.bubble_ns += past.end_ns - past.begin_ns;
  failures_.offered_ns += past.end_ns - past.begin_ns;
  SettleWaiting();
}

void RankAccount::OnBreak(Instant now) {
  CHECK(is_attached_);
  CloseAll(now);
  may_miss_bubble_begin_ = true;
  may_miss_iteration_begin_ = true;
  SettleWaiting();
}

void RankAccount::CloseAll(Instant now) {
  if (open_.has_value()) CloseBubble(std::max(now.ns(), open_->begin_ns));
  iteration_begin_.reset();
}

EdgeEffect RankAccount::OnEdge(const EdgeEvent& edge, bool is_offered) {
  CHECK(is_attached_);
  EdgeEffect effect;
  switch (edge.kind) {
    case EdgeKind::kIterationBegin:
      ++rank_.iterations;
      may_miss_iteration_begin_ = false;
      if (iteration_begin_.has_value()) ++rank_.unmatched;
      iteration_begin_ = edge;
      is_iteration_broken_ = false;
      if (open_.has_value()) CountOffered(ToSigned(edge.time_ns), edge.iteration);
      break;
    case EdgeKind::kIterationEnd:
      effect.ended = EndIteration(edge);
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

std::optional<EndedIteration> RankAccount::EndIteration(const EdgeEvent& edge) {
  if (std::exchange(is_iteration_broken_, false)) return std::nullopt;
  const std::optional<EdgeEvent> begin = std::exchange(iteration_begin_, std::nullopt);
  if (std::exchange(may_miss_iteration_begin_, false)) return std::nullopt;
  if (!begin.has_value() || begin->iteration != edge.iteration || edge.time_ns < begin->time_ns) {
    ++rank_.unmatched;
    return std::nullopt;
  }
  const int64_t length_ns = ToSigned(edge.time_ns - begin->time_ns);
  rank_.iteration_ns += length_ns;
  iteration_lengths_.Add(length_ns);
  return EndedIteration{
      .number = edge.iteration, .begin_ns = ToSigned(begin->time_ns), .length_ns = length_ns};
}

void RankAccount::BeginBubble(const EdgeEvent& edge, bool is_offered) {
  may_miss_bubble_begin_ = false;
  if (open_.has_value()) {
    ++rank_.unmatched;
    AbandonBubble();
  }
  last_seq_ = edge.seq;
  open_ = {.seq = edge.seq,
           .slot = edge.slot,
           .begin_ns = ToSigned(edge.time_ns),
           .iteration = edge.iteration,
           .has_window = is_offered,
           .offered_since_ns = std::nullopt,
           .offered_ns = 0,
           .counted_until_ns = std::nullopt};
  CountOffered(open_->begin_ns, edge.iteration);
}

void RankAccount::CountOffered(int64_t now_ns, uint64_t iteration) {
  const std::optional<int64_t> since_ns = std::exchange(open_->offered_since_ns, std::nullopt);
  if (since_ns.has_value()) open_->offered_ns += std::max<int64_t>(0, now_ns - *since_ns);
  if (open_->has_window && !IsHeldOut(hold_out_, iteration)) open_->offered_since_ns = now_ns;
}

std::optional<ClosedBubble> RankAccount::EndBubble(const EdgeEvent& edge) {
  last_seq_ = edge.seq;
  if (std::exchange(may_miss_bubble_begin_, false)) {
    SettleWaiting();
    return std::nullopt;
  }
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
  CountOffered(end_ns, open_->iteration);
  const int64_t counted_ns = open_->counted_until_ns.value_or(end_ns) - open_->begin_ns;
  rank_.bubble_ns += counted_ns;
  if (!IsHeldOut(hold_out_, closed.iteration)) rank_.fillable_ns += counted_ns;
  if (closed.slot < kBubbleSlots) {
    BubbleTotals& totals = bubbles_[closed.slot];
    ++totals.count;
    totals.bubble_ns += counted_ns;
    totals.offered_ns += open_->offered_ns;
    if (open_->offered_ns > 0) ++totals.offered;
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
  if (waiting.unit.slot == kFailureSlot) return TrySettleFailure(waiting);
  if (IsOpenOrToCome(waiting.unit)) return false;
  const PastBubble* past = FindPast(waiting.unit);
  Settle(waiting, past == nullptr ? kNeverSeenToBegin : past->end_ns);
  return true;
}

bool RankAccount::TrySettleFailure(const WaitingUnit& waiting) {
  const UnitRecord& unit = waiting.unit;
  const int64_t begin_ns = ToSigned(unit.bubble_begin_ns);
  if (unit.generation == generation_ && failure_begin_ns_ == begin_ns) return false;
  const auto past =
      std::find_if(past_failures_.rbegin(), past_failures_.rend(), [&](const PastFailure& failure) {
        return failure.generation == unit.generation && failure.begin_ns == begin_ns;
      });
  Settle(waiting, past == past_failures_.rend() ? kNeverSeenToBegin : past->end_ns);
  return true;
}

BubbleTotals* RankAccount::TotalsOf(uint32_t slot) {
  if (slot == kFailureSlot) return &failures_;
  return slot < kBubbleSlots ? &bubbles_[slot] : nullptr;
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
  BubbleTotals* const totals = TotalsOf(unit.slot);
  if (unit.generation == generation_ && totals != nullptr) {
    ++totals->units;
    if (split.overrun_ns > 0) ++totals->overruns;
    AddTo(totals->filled_ns, split.in_bubble_ns);
    AddTo(totals->overrun_ns, split.overrun_ns);
    if (totals != &failures_) AddTo(rank_.overrun_ns, split.overrun_ns);
  }
  const auto task = tasks_.find(waiting.task_key);
  if (task == tasks_.end()) return;
  AddTo(task->second.overrun_ns, split.overrun_ns);
  if (split.overrun_ns > 0) ++task->second.units_overrun;
  settled_.push_back({.task_key = waiting.task_key,
                      .slot = waiting.unit.slot,
                      .cpu_ns = split.in_bubble_ns + split.overrun_ns,
                      .overrun_ns = split.overrun_ns});
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
