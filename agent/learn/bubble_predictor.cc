#include "agent/learn/bubble_predictor.h"

#include <algorithm>
#include <span>

#include "agent/learn/latest_start.h"
#include "common/check.h"

namespace pipefill {
namespace {

constexpr double kBandLow = 0.05;
constexpr double kBandHigh = 0.95;
constexpr double kMemoryShare = 0.1;

}  // namespace

BubblePredictor::BubblePredictor(const PredictorOptions& options)
    : options_(options), slots_(kBubbleSlots, Slot(options.samples_max)) {
  CHECK(options.overrun_ratio > 0.0 && options.overrun_ratio < 1.0);
  CHECK(options.samples_min >= 1 && options.samples_min <= options.samples_max);
  CHECK(options.change_run >= 1);
  CHECK(options.outlier_ratio >= 1.0);
  CHECK(options.unit_ns.front() > 0);
  CHECK(std::is_sorted(options.unit_ns.begin(), options.unit_ns.end()));
}

void BubblePredictor::OnLength(uint32_t slot_index, int64_t length_ns) {
  if (slot_index >= kBubbleSlots || length_ns < 0) return;
  Slot& slot = slots_[slot_index];
  ++slot.count;
  if (slot.count == 1) return;
  const int64_t learned_ns = std::clamp<int64_t>(length_ns, 1, kBubbleLengthMaxNs);
  DetectChange(learned_ns, slot);
  slot.lengths.Add(learned_ns);
  if (slot.outside_run >= options_.change_run) {
    slot.lengths.KeepNewest(slot.outside_run);
    slot.outside_run = 0;
  }
  RebuildWindow(slot);
}

void BubblePredictor::OnMemoryHint(uint32_t slot_index, int64_t free_bytes) {
  if (slot_index >= kBubbleSlots || free_bytes < 0) return;
  Slot& slot = slots_[slot_index];
  slot.memory.Add(free_bytes);
  slot.window.memory_free_bytes = slot.memory.Quantile(kMemoryShare);
}

void BubblePredictor::DetectChange(int64_t length_ns, Slot& slot) const {
  if (slot.outside_run == 0) {
    if (slot.lengths.size() < options_.samples_min) return;
    slot.band_low = slot.lengths.Quantile(kBandLow);
    slot.band_high = slot.lengths.Quantile(kBandHigh);
  }
  const bool is_inside = length_ns >= slot.band_low && length_ns <= slot.band_high;
  slot.outside_run = is_inside ? 0 : slot.outside_run + 1;
}

void BubblePredictor::RebuildWindow(Slot& slot) const {
  const std::vector<int64_t>& sorted = slot.lengths.sorted();
  const int64_t median_ns = slot.lengths.Quantile(0.5);
  slot.window.is_offered = slot.lengths.size() >= options_.samples_min &&
                           median_ns >= absl::ToInt64Nanoseconds(options_.bubble_min);
  slot.window.latest_start_ns.fill(kNever);
  if (!slot.window.is_offered) return;
  const auto longest_ns =
      static_cast<int64_t>(options_.outlier_ratio * static_cast<double>(median_ns));
  const auto usual_end = std::upper_bound(sorted.begin(), sorted.end(), longest_ns);
  const std::span<const int64_t> usual(sorted.begin(), usual_end);
  for (size_t i = 0; i < kUnitLadder; ++i) {
    slot.window.latest_start_ns[i] =
        FindLatestStart(usual, options_.unit_ns[i], options_.overrun_ratio);
    // Longer units may start no later.
    if (slot.window.latest_start_ns[i] == kNever) break;
  }
}

const BubbleWindow& BubblePredictor::WindowOf(uint32_t slot) const {
  CHECK(slot < kBubbleSlots);
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
