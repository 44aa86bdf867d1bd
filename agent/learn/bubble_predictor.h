// Learns how long the bubbles of one rank last and how much memory is free in them, and says up to
// when units may start in each. One entry per slot of the rank's signal page.
//
//   lengths of a usual iteration --> last 64 --> set aside the far too long
//                                                    --> table of latest starts, less the guard
//
// A slot is offered when samples_min lengths are kept (a few, once it was offered before), one in
// ten of them reaches bubble_min, and some unit keeps the promise.
//   - Iterations of another kind (the first, an evaluation, a checkpoint: iteration_filter.h) teach
//     nothing: lengths wait for the end of their iteration, and are dropped there. Of a rank that
//     reports no iterations the first length of each slot is dropped instead.
//   - Change: lengths that are of another kind than those kept (change_detector.h) are the new
//     normal; everything older is dropped at once.
//   - A length beyond `outlier_ratio` times the median (a checkpoint, an evaluation) is kept, so
//     that it can become the new normal, but is left out of the table. That is the careful side: a
//     long length can only make later starts look safer.
//
// Some bubbles are either over at once or long: the neighbour's message is there already, or it is
// not. Then no unit could keep the promise at the bubble's begin, and all could a little later. So
// the lengths are also looked at without the short ones before a wide step, with starts from there
// on; what leaves most time to fill is published.
//
// An iteration of another kind may show while it runs. Then nothing is offered until the next one
// begins. That helps only if iterations are much longer than the time between two calls of OnTime,
// and it is never complete: bubbles before the first deviation have been filled as usual by then.
//
// Under the static rule, which is there to compare with, a unit must end within a fixed share of
// the median length, as in PipeFill; overrun_ratio and guards then mean nothing.
//
// Lengths and offsets are int64_t nanoseconds, as in the pages they come from and go to.
//
// Pure. Thread-compatible: one predictor belongs to one attached rank.
#ifndef AGENT_LEARN_BUBBLE_PREDICTOR_H_
#define AGENT_LEARN_BUBBLE_PREDICTOR_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/time/time.h"
#include "agent/learn/change_detector.h"
#include "agent/learn/iteration_filter.h"
#include "agent/learn/recent_values.h"
#include "agent/learn/start_table.h"
#include "client/pages/window_page.h"

namespace pipefill {

struct PredictorOptions {
  // Promised overrun per unit time, in (0, 1).
  double overrun_ratio = 0.2;
  size_t samples_max = 64;
  // At most samples_max.
  size_t samples_min = 8;
  absl::Duration bubble_min = absl::Microseconds(100);
  double outlier_ratio = 5.0;
  // Unit lengths, growing.
  UnitLadder unit_ns = kDefaultUnitLadder;
  // Iterations shorter than this are over before withholding could help.
  absl::Duration withhold_min = absl::Milliseconds(50);
};

// Values equal those of pipefill.v1.BubbleOffer.
enum class OfferVerdict : uint8_t {
  kYes = 1,
  kTooFew = 2,     // seen too few times
  kTooShort = 3,   // hardly any as long as bubble_min
  kUncertain = 4,  // no unit length keeps the promise, or the iteration is not a usual one
};

// What may be published for one bubble; goes into a WindowEntry as it is.
struct BubbleWindow {
  bool is_offered = false;  // verdict is kYes
  OfferVerdict verdict = OfferVerdict::kTooFew;
  // Low quantile of what the rank said is free in this bubble, less a head-room; 0 = it never said.
  int64_t memory_free_bytes = 0;
  // No unit may start before this offset; 0 = from the begin on.
  int64_t earliest_start_ns = 0;
  // Per entry of the ladder: last offset from the bubble's begin, or kNever; see start_table.h. All
  // kNever if not offered.
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

  // An iteration begins and ends; times grow. Without them every length is learned as it comes.
  void OnIterationBegin(int64_t now_ns);
  void OnIterationEnd(int64_t now_ns);
  // Something was not seen, or was no ordinary work: the open iteration teaches nothing, or if none
  // is open the next one or the next length, whichever comes first.
  void IgnoreIteration();
  // Call now and then: withholds all windows while the open iteration is seen not to be a usual
  // one.
  void OnTime(int64_t now_ns);

  // A bubble of `slot` ended. Slots >= kBubbleSlots and negative lengths are ignored: both come
  // from pages.
  void OnLength(uint32_t slot, int64_t length_ns);
  // The rank said, in a bubble of `slot`, that it leaves so much memory alone. Same rules.
  void OnMemoryHint(uint32_t slot, int64_t free_bytes);

  // Moves the promise, for all slots. REQUIRES: in (0, 1).
  void SetOverrunRatio(double overrun_ratio);
  double overrun_ratio() const { return overrun_ratio_; }
  // Taken off every latest start of `slot`; what falls below 0 is kNever. REQUIRES: slot <
  // kBubbleSlots, guard_ns >= 0.
  void SetGuard(uint32_t slot, int64_t guard_ns);
  int64_t guard_ns(uint32_t slot) const;
  // The share of the static rule, in (0, 1]; 0 = the learned rule again.
  void SetStaticShare(double share);

  // Slots whose window may have changed since the last call, growing. Windows are made anew here
  // and in WindowOf, some 5 us each (at most 30), once for any number of lengths in between.
  std::vector<uint32_t> TakeChanged();
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
    ChangeDetector changes;
    int64_t count = 0;
    int64_t guard_ns = 0;
    bool was_learned = false;  // samples_min lengths were kept once
    bool is_changed = false;   // since TakeChanged
    bool is_stale = false;     // `window` is older than the rest
    BubbleWindow window;
  };

  struct Length {
    uint32_t slot = 0;
    int64_t length_ns = 0;
  };

  void Learn(const Length& length);
  void LearnAll(std::vector<Length>& lengths);
  void SetWithheld(bool is_withheld);
  void Touch(Slot& slot) const;
  void TouchAll();
  void RebuildWindow(Slot& slot) const;
  // When units may start, and how much of all kept lengths that leaves to fill.
  struct StartPlan {
    int64_t earliest_ns = 0;
    UnitLadder latest_ns;
    double usable_ns = 0;
  };

  size_t SamplesNeeded(const Slot& slot) const;
  void RebuildStarts(Slot& slot) const;
  // Of the kept lengths those from `first` on.
  StartPlan PlanFrom(const Slot& slot, size_t first) const;
  UnitLadder MakeStaticTable(const Slot& slot) const;

  const PredictorOptions options_;
  double overrun_ratio_;
  double static_share_ = 0.0;
  IterationFilter iterations_;
  bool is_ignored_ = false;      // see IgnoreIteration
  std::vector<Length> pending_;  // of the open iteration
  std::vector<Length> held_;     // of kLength iterations, in case such lengths become usual
  bool is_withheld_ = false;
  BubbleWindow withheld_window_;
  // kBubbleSlots. Mutable: windows are made when somebody looks.
  mutable std::vector<Slot> slots_;
};

}  // namespace pipefill

#endif  // AGENT_LEARN_BUBBLE_PREDICTOR_H_
