// Chance in a simulated run: everything comes from one seed.
//
// The figures are made here and not by the library's distributions, so that a seed means the same
// run wherever it is built.
//
// Thread-compatible.
#ifndef SIMULATOR_FAULTS_DRAW_H_
#define SIMULATOR_FAULTS_DRAW_H_

#include <cstdint>
#include <random>

#include "absl/time/time.h"

namespace pipefill::simulator {

class Draw {
 public:
  explicit Draw(uint64_t seed) : engine_(seed) {}

  // In [0, 1).
  double Share() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }
  bool Chance(double share) { return Share() < share; }
  // From `low` to `high`, both included. REQUIRES: low <= high.
  int64_t Between(int64_t low, int64_t high) {
    const auto span = static_cast<uint64_t>(high - low) + 1;
    return low + static_cast<int64_t>(engine_() % span);
  }
  absl::Duration Between(absl::Duration low, absl::Duration high) {
    return absl::Nanoseconds(
        Between(absl::ToInt64Nanoseconds(low), absl::ToInt64Nanoseconds(high)));
  }
  // For a source of its own, whose use changes nothing here.
  uint64_t Seed() { return engine_(); }

 private:
  std::mt19937_64 engine_;
};

}  // namespace pipefill::simulator

#endif  // SIMULATOR_FAULTS_DRAW_H_
