// How long the next unit of one kind will take: what the gate compares with the window.
//
// Which clock predicts? The gate needs the time from the start of a unit to its end on an otherwise
// idle device, since that is what must fit into the rest of a bubble. That is wall time: it holds
// the waits of a unit (for data, for other processes) and does not count several threads twice,
// while CPU time does neither. But wall time tells the truth only if the unit was left alone. A
// unit that outlives its bubble is preempted by the main job, and its wall time then contains the
// main job's work. So:
//   - a unit that ended while its bubble was still open counts with its wall time;
//   - an overrun counts with the wall time that its CPU time stands for: CPU time divided by the
//   CPU
//     seconds per wall second of the undisturbed units in the window (1 if there are none), and
//     never more than its wall time.
//
// The estimate is the 90th percentile of the last 32 lengths, and not below the length of the last
// overrun among them.
//
//   guess --OnUnit--> measured --samples dropped one by one--> guess
//
// A guess (the hint, then halved) or one slow start-up unit can be too long for every bubble. Then
// no unit runs and nothing is learned, so offered bubbles that pass without a unit count:
//   - guess: 64 in a row halve it;
//   - measured: 256 in a row (64 while fewer than 4 lengths are known) drop the longest length. If
//   the
//     unit that this lets through overruns again, the number doubles, so that units that really are
//     too long for the bubbles are tried ever more rarely. A unit that fits puts it back.
//
// Pure.
#ifndef CLIENT_FILL_UNIT_ESTIMATE_H_
#define CLIENT_FILL_UNIT_ESTIMATE_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace pipefill::sdk {

struct UnitMeasure {
  uint64_t wall_ns = 0;
  uint64_t cpu_ns = 0;      // of the whole process
  bool is_overrun = false;  // its bubble was over before it ended
};

class UnitEstimate {
 public:
  static constexpr size_t kSamplesMax = 32;
  static constexpr uint64_t kDefaultHintNs = 5'000'000;
  static constexpr uint64_t kGuessMinNs = 1'000;
  static constexpr uint32_t kDeniedBeforeHalving = 64;
  static constexpr size_t kFewSamples = 4;
  static constexpr uint32_t kDeniedBeforeDropFew = 64;
  static constexpr uint32_t kDeniedBeforeDrop = 256;
  static constexpr uint32_t kBackOffMax = 256;

  // 0 = kDefaultHintNs.
  explicit UnitEstimate(uint64_t hint_ns = 0);

  void OnUnit(const UnitMeasure& measure);
  // A bubble was offered, a unit was wanted, and none of this kind was allowed to start in it.
  void OnDenied();

  uint64_t estimate_ns() const { return estimate_ns_; }

 private:
  struct Sample {
    uint64_t length_ns = 0;
    UnitMeasure measure;
  };

  uint64_t LengthOf(const UnitMeasure& measure) const;
  void DropLongest();
  void Recompute();

  uint64_t guess_ns_;
  uint64_t estimate_ns_;
  std::array<Sample, kSamplesMax> samples_;  // [0, count_), oldest first
  size_t count_ = 0;
  uint32_t denied_in_row_ = 0;
  uint32_t back_off_ = 1;  // factor on the number of denials before a drop
  bool is_trial_ = false;  // no unit has run since a sample was dropped
};

}  // namespace pipefill::sdk

#endif  // CLIENT_FILL_UNIT_ESTIMATE_H_
