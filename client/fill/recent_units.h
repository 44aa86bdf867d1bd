// The units of one kind that were measured last, and how long each of them would have taken on an
// otherwise idle device: what must fit into the rest of a bubble.
//
// That is wall time: it holds the waits of a unit (for data, for other processes) and does not
// count several threads twice, while CPU time does neither. But wall time tells the truth only if
// the unit was left alone. A unit that outlives its bubble is preempted by the main job, and its
// wall time then contains the main job's work. So:
//   - a unit that ended while its bubble was still open counts with its wall time;
//   - an overrun counts with the wall time that its CPU time stands for: CPU time divided by the
//   CPU
//     seconds per wall second of the undisturbed units kept here (1 if there are none), and never
//     more than its wall time.
//
// Pure.
#ifndef CLIENT_FILL_RECENT_UNITS_H_
#define CLIENT_FILL_RECENT_UNITS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace pipefill::sdk {

// How long a unit is taken to be before any was measured, unless the task gives a hint; and the
// least that such a guess is lowered to.
inline constexpr uint64_t kDefaultHintNs = 5'000'000;
inline constexpr uint64_t kGuessMinNs = 1'000;

struct UnitMeasure {
  uint64_t wall_ns = 0;
  uint64_t cpu_ns = 0;      // of the whole process
  bool is_overrun = false;  // its bubble was over before it ended
};

class RecentUnits {
 public:
  static constexpr size_t kCapacity = 64;

  struct Sample {
    uint64_t length_ns = 0;
    uint32_t size = 1;  // of an elastic unit
    UnitMeasure measure;
  };

  // Keeps the last `kept`, [1, kCapacity].
  explicit RecentUnits(size_t kept) : kept_(kept) {}

  void Add(const UnitMeasure& measure, uint32_t size = 1);
  // REQUIRES: index < samples().size().
  void Drop(size_t index);

  // Oldest first.
  std::span<const Sample> samples() const { return {samples_.data(), count_}; }

 private:
  uint64_t LengthOf(const UnitMeasure& measure) const;

  size_t kept_;
  std::array<Sample, kCapacity> samples_;  // [0, count_), oldest first
  size_t count_ = 0;
};

// The value below which `share` of `values` lie, rounded up to one of them; reorders them.
// REQUIRES: not empty; share in (0, 1].
double QuantileOf(std::span<double> values, double share);

}  // namespace pipefill::sdk

#endif  // CLIENT_FILL_RECENT_UNITS_H_
