// Learns how long the bubbles of one rank last and how much memory is free in them, and says up to
// when units may start in each. One entry per slot of the rank's signal page.
//
//   lengths --> last 64 --> set aside the far too long --> latest start for 16 unit lengths
//
// A slot is offered when samples_min lengths are kept and their median reaches bubble_min.
//   - The first length of a slot is not learned: in its first iteration a training run compiles,
//     connects and allocates.
//   - Change: `change_run` lengths in a row outside the old 5 %..95 % band of the kept ones are the
//   new
//     normal; everything older is dropped at once.
//   - A length beyond `outlier_ratio` times the median (a checkpoint, an evaluation) is kept, so
//   that it
//     can become the new normal, but is left out of the table. That is the careful side: a long
//     length can only make later starts look safer.
//
// Lengths and offsets are int64_t nanoseconds, as in the pages they come from and go to.
//
// Pure. Thread-compatible: one predictor belongs to one attached rank.
#ifndef AGENT_LEARN_BUBBLE_PREDICTOR_H_
#define AGENT_LEARN_BUBBLE_PREDICTOR_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/time/time.h"
#include "agent/learn/recent_values.h"
#include "client/pages/window_page.h"

namespace pipefill {

using UnitLadder = std::array<int64_t, kUnitLadder>;

// Dense where units of CPU fill jobs are (0.3 - 20 ms); a gate rounds up to the next entry.
inline constexpr UnitLadder kDefaultUnitLadder = {
    100'000,   200'000,   300'000,   500'000,    700'000,    1'000'000,  1'500'000,   2'000'000,
    3'000'000, 5'000'000, 7'000'000, 10'000'000, 20'000'000, 50'000'000, 100'000'000, 300'000'000};

struct PredictorOptions {
  // Promised overrun per unit time, in (0, 1).
  double overrun_ratio = 0.2;
  size_t samples_max = 64;
  // At most samples_max.
  size_t samples_min = 8;
  absl::Duration bubble_min = absl::Microseconds(200);
  // Lengths in a row outside the band that make the older ones void; at least samples_min keeps a
  // changed bubble on offer.
  size_t change_run = 8;
  double outlier_ratio = 5.0;
  // Unit lengths, growing.
  UnitLadder unit_ns = kDefaultUnitLadder;
};

// What may be published for one bubble; goes into a WindowEntry as it is.
struct BubbleWindow {
  bool is_offered = false;
  // Low quantile of what the rank said is free in this bubble; 0 = it never said.
  int64_t memory_free_bytes = 0;
  // Per entry of the ladder: last offset from the bubble's begin, or kNever. All kNever if not
  // offered.
  UnitLadder latest_start_ns;

  BubbleWindow() { latest_start_ns.fill(kNever); }
  friend bool operator==(const BubbleWindow&, const BubbleWindow&) = default;
};

// For people. Quantiles are of the kept lengths, outliers included; 0 while there are none.
struct BubbleSummary {
  int64_t count = 0;  // lengths ever seen
  int64_t p10_ns = 0;
  int64_t p50_ns = 0;
  int64_t p90_ns = 0;
};

class BubblePredictor {
 public:
  // REQUIRES: options within the ranges named there.
  explicit BubblePredictor(const PredictorOptions& options);

  // A bubble of `slot` ended. Slots >= kBubbleSlots and negative lengths are ignored: both come
  // from pages. A few microseconds; the window of the slot is up to date afterwards.
  void OnLength(uint32_t slot, int64_t length_ns);
  // The rank said, in a bubble of `slot`, that it leaves so much memory alone. Same rules.
  void OnMemoryHint(uint32_t slot, int64_t free_bytes);

  // Never offered for slots that were not seen. Valid as long as the predictor.
  // REQUIRES: slot < kBubbleSlots.
  const BubbleWindow& WindowOf(uint32_t slot) const;
  BubbleSummary Summarise(uint32_t slot) const;

  const UnitLadder& unit_ns() const { return options_.unit_ns; }

 private:
  struct Slot {
    explicit Slot(size_t samples_max) : lengths(samples_max), memory(samples_max) {}
    RecentValues lengths;
    RecentValues memory;
    int64_t count = 0;
    // Lengths in a row outside [band_low, band_high], which is fixed while the run lasts.
    size_t outside_run = 0;
    int64_t band_low = 0;
    int64_t band_high = 0;
    BubbleWindow window;
  };

  void DetectChange(int64_t length_ns, Slot& slot) const;
  void RebuildWindow(Slot& slot) const;

  const PredictorOptions options_;
  std::vector<Slot> slots_;  // kBubbleSlots
};

}  // namespace pipefill

#endif  // AGENT_LEARN_BUBBLE_PREDICTOR_H_
