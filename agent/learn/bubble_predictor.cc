#include "agent/learn/bubble_predictor.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "agent/learn/latest_start.h"
#include "common/check.h"

namespace pipefill {
namespace {

// Lengths needed after a change: they are what shows it.
constexpr size_t kSamplesAfterChange = 4;
constexpr double kMemoryShare = 0.1;
// Waits for a neighbour that is mostly ready are short but for a few, which hold most of the time.
constexpr double kLongShare = 0.9;
// Of the memory that is free, this part stays untouched.
constexpr int64_t kHeadRoomParts = 20;
// Lengths that wait. A rank that never ends its iteration is learned from all the same.
constexpr size_t kPendingMax = 4096;

// Fewer short lengths than this part of all are no kind of their own.
constexpr size_t kShortKindParts = 8;
// Waiting for the long kind must leave so much more to fill.
constexpr double kWorthWaiting = 1.1;
// Units up to this length decide between two plans, all alike.
constexpr int64_t kUsableUnitMaxNs = 1'000'000;

// Whether bubbles of these two neighbouring lengths are of two kinds.
bool IsWideStep(int64_t shorter_ns, int64_t longer_ns) {
  constexpr int64_t kStepMinNs = 200'000;
  return longer_ns - shorter_ns >= std::max(kStepMinNs, shorter_ns);
}

// When a bubble that is still open is taken for one of the longer kind.
int64_t BehindStep(int64_t shorter_ns) {
  constexpr int64_t kBehindMinNs = 20'000;
  return shorter_ns + std::max(kBehindMinNs, shorter_ns / 8);
}

bool IsRatio(double value) { return value > 0.0 && value < 1.0; }

}  // namespace

BubblePredictor::BubblePredictor(const PredictorOptions& options)
    : options_(options),
      overrun_ratio_(options.overrun_ratio),
      slots_(kBubbleSlots, Slot(options.samples_max)) {
  withheld_window_.verdict = OfferVerdict::kUncertain;
  CHECK(IsRatio(options.overrun_ratio));
  CHECK(options.samples_min >= 1 && options.samples_min <= options.samples_max);
  CHECK(options.outlier_ratio >= 1.0);
  CHECK(options.unit_ns.front() > 0);
  CHECK(std::is_sorted(options.unit_ns.begin(), options.unit_ns.end()));
}

void BubblePredictor::OnIterationBegin(int64_t now_ns) {
  pending_.clear();
  iterations_.OnBegin(now_ns);
  SetWithheld(false);
}

void BubblePredictor::OnIterationEnd(int64_t now_ns) {
  if (!iterations_.is_open()) return;
  SetWithheld(false);
  if (std::exchange(is_ignored_, false)) {
    iterations_.Abandon();
    pending_.clear();
    return;
  }
  const IterationKind kind = iterations_.OnEnd(now_ns);
  if (kind == IterationKind::kNewLength) LearnAll(held_);
  if (kind == IterationKind::kUsual) held_.clear();
  if (kind == IterationKind::kUsual || kind == IterationKind::kNewLength) LearnAll(pending_);
  if (kind == IterationKind::kLength) {
    held_.insert(held_.end(), pending_.begin(), pending_.end());
  }
  pending_.clear();
}

void BubblePredictor::IgnoreIteration() {
  is_ignored_ = true;
  pending_.clear();
}

void BubblePredictor::OnTime(int64_t now_ns) {
  const int64_t shortest_ns = absl::ToInt64Nanoseconds(options_.withhold_min);
  SetWithheld(iterations_.typical_ns() >= shortest_ns && iterations_.IsUnusual(now_ns));
}

void BubblePredictor::SetWithheld(bool is_withheld) {
  if (is_withheld == is_withheld_) return;
  is_withheld_ = is_withheld;
  for (Slot& slot : slots_) slot.is_changed = slot.is_changed || slot.count > 0;
}

void BubblePredictor::OnLength(uint32_t slot_index, int64_t length_ns) {
  if (slot_index >= kBubbleSlots || length_ns < 0) return;
  const bool is_first = slots_[slot_index].count++ == 0;
  const Length length = {.slot = slot_index,
                         .length_ns = std::clamp<int64_t>(length_ns, 1, kBubbleLengthMaxNs)};
  if (!iterations_.is_open()) {
    if (!std::exchange(is_ignored_, false) && !is_first) Learn(length);
    return;
  }
  iterations_.OnBubble(slot_index);
  if (is_ignored_) return;
  pending_.push_back(length);
  if (pending_.size() >= kPendingMax) LearnAll(pending_);
}

void BubblePredictor::LearnAll(std::vector<Length>& lengths) {
  for (const Length& length : lengths) Learn(length);
  lengths.clear();
}

void BubblePredictor::Learn(const Length& length) {
  Slot& slot = slots_[length.slot];
  const size_t of_new_kind = slot.lengths.size() < options_.samples_min
                                 ? 0
                                 : slot.changes.OnLength(slot.lengths.sorted(), length.length_ns);
  slot.lengths.Add(length.length_ns);
  if (of_new_kind > 0) slot.lengths.KeepNewest(of_new_kind);
  slot.was_learned = slot.was_learned || slot.lengths.size() >= options_.samples_min;
  Touch(slot);
}

void BubblePredictor::OnMemoryHint(uint32_t slot_index, int64_t free_bytes) {
  if (slot_index >= kBubbleSlots || free_bytes < 0) return;
  slots_[slot_index].memory.Add(free_bytes);
  Touch(slots_[slot_index]);
}

void BubblePredictor::SetOverrunRatio(double overrun_ratio) {
  CHECK(IsRatio(overrun_ratio));
  if (overrun_ratio == overrun_ratio_) return;
  overrun_ratio_ = overrun_ratio;
  TouchAll();
}

void BubblePredictor::SetGuard(uint32_t slot_index, int64_t guard_ns) {
  CHECK(slot_index < kBubbleSlots && guard_ns >= 0);
  Slot& slot = slots_[slot_index];
  if (guard_ns == slot.guard_ns) return;
  slot.guard_ns = guard_ns;
  Touch(slot);
}

int64_t BubblePredictor::guard_ns(uint32_t slot) const {
  CHECK(slot < kBubbleSlots);
  return slots_[slot].guard_ns;
}

void BubblePredictor::SetStaticShare(double share) {
  CHECK(share >= 0.0 && share <= 1.0);
  if (share == static_share_) return;
  static_share_ = share;
  TouchAll();
}

void BubblePredictor::Touch(Slot& slot) const {
  slot.is_changed = true;
  slot.is_stale = true;
}

void BubblePredictor::TouchAll() {
  for (Slot& slot : slots_) {
    if (slot.count > 0) Touch(slot);
  }
}

std::vector<uint32_t> BubblePredictor::TakeChanged() {
  std::vector<uint32_t> changed;
  for (uint32_t slot = 0; slot < kBubbleSlots; ++slot) {
    if (!slots_[slot].is_changed) continue;
    slots_[slot].is_changed = false;
    RebuildWindow(slots_[slot]);
    changed.push_back(slot);
  }
  return changed;
}

void BubblePredictor::RebuildWindow(Slot& slot) const {
  if (!slot.is_stale) return;
  slot.is_stale = false;
  const int64_t free_bytes = slot.memory.Quantile(kMemoryShare);
  slot.window = BubbleWindow();
  slot.window.memory_free_bytes = free_bytes - free_bytes / kHeadRoomParts;
  if (slot.lengths.size() >= SamplesNeeded(slot)) RebuildStarts(slot);
  slot.window.is_offered = slot.window.verdict == OfferVerdict::kYes;
}

size_t BubblePredictor::SamplesNeeded(const Slot& slot) const {
  return slot.was_learned ? std::min(kSamplesAfterChange, options_.samples_min)
                          : options_.samples_min;
}

void BubblePredictor::RebuildStarts(Slot& slot) const {
  const std::vector<int64_t>& sorted = slot.lengths.sorted();
  const int64_t shortest_ns = absl::ToInt64Nanoseconds(options_.bubble_min);
  const bool is_short = slot.lengths.Quantile(kLongShare) < shortest_ns;
  StartPlan best;
  best.latest_ns.fill(kNever);
  const bool is_static = static_share_ > 0.0;
  if (!is_short && is_static) best.latest_ns = MakeStaticTable(slot);
  if (!is_short && !is_static) best = PlanFrom(slot, 0);
  for (size_t i = 1; !is_static && i + options_.samples_min <= sorted.size(); ++i) {
    const bool is_rare = i < sorted.size() / kShortKindParts;
    if (is_rare || !IsWideStep(sorted[i - 1], sorted[i]) || sorted[i] < shortest_ns) continue;
    StartPlan plan = PlanFrom(slot, i);
    if (plan.usable_ns > kWorthWaiting * best.usable_ns) best = plan;
  }
  slot.window.latest_start_ns = best.latest_ns;
  // No unit may start later than the shortest.
  if (best.latest_ns.front() >= best.earliest_ns) {
    slot.window.earliest_start_ns = best.earliest_ns;
    slot.window.verdict = OfferVerdict::kYes;
    return;
  }
  slot.window.latest_start_ns.fill(kNever);
  slot.window.verdict = is_short ? OfferVerdict::kTooShort : OfferVerdict::kUncertain;
}

BubblePredictor::StartPlan BubblePredictor::PlanFrom(const Slot& slot, size_t first) const {
  const std::span<const int64_t> lengths = std::span(slot.lengths.sorted()).subspan(first);
  const auto longest_ns = static_cast<int64_t>(
      options_.outlier_ratio * static_cast<double>(lengths[(lengths.size() - 1) / 2]));
  const auto usual_end = std::upper_bound(lengths.begin(), lengths.end(), longest_ns);
  StartPlan plan;
  if (first > 0) plan.earliest_ns = BehindStep(slot.lengths.sorted()[first - 1]);
  plan.latest_ns =
      MakeStartTable(std::span(lengths.begin(), usual_end), options_.unit_ns, overrun_ratio_);
  for (size_t i = 0; i < kUnitLadder; ++i) {
    int64_t& latest_ns = plan.latest_ns[i];
    latest_ns = std::max(latest_ns - slot.guard_ns, kNever);
    if (latest_ns < plan.earliest_ns) latest_ns = kNever;
    if (latest_ns == kNever || options_.unit_ns[i] > kUsableUnitMaxNs) continue;
    for (const int64_t length_ns : lengths) {
      const int64_t end_ns = std::min(length_ns, latest_ns + options_.unit_ns[i]);
      plan.usable_ns += static_cast<double>(std::max<int64_t>(0, end_ns - plan.earliest_ns));
    }
  }
  return plan;
}

UnitLadder BubblePredictor::MakeStaticTable(const Slot& slot) const {
  const double share_ns = static_share_ * static_cast<double>(slot.lengths.Quantile(0.5));
  const auto end_ns = static_cast<int64_t>(std::floor(share_ns));
  UnitLadder table;
  for (size_t i = 0; i < kUnitLadder; ++i) {
    table[i] = std::max(end_ns - options_.unit_ns[i], kNever);
  }
  return table;
}

const BubbleWindow& BubblePredictor::WindowOf(uint32_t slot) const {
  CHECK(slot < kBubbleSlots);
  if (is_withheld_) return withheld_window_;
  RebuildWindow(slots_[slot]);
  return slots_[slot].window;
}

BubbleSummary BubblePredictor::Summarise(uint32_t slot) const {
  CHECK(slot < kBubbleSlots);
  const RecentValues& lengths = slots_[slot].lengths;
  return {.count = slots_[slot].count,
          .p10_ns = lengths.Quantile(0.1),
          .p50_ns = lengths.Quantile(0.5),
          .p90_ns = lengths.Quantile(0.9)};
}

}  // namespace pipefill
