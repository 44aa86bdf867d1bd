// Which fill jobs to make resident on a device, so that its windows recover most work: a knapsack
// under memory and a number of seats, in which jobs share the windows' time.
//
// A set's value: in each window the job whose time is worth most goes first, each gets as much as
// it could use alone, and all together get no more than the window. That is the most that taking
// turns can give.
//
// Pure.
#ifndef PLANNER_PACKING_H_
#define PLANNER_PACKING_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace pipefill {

struct ResidentCandidate {
  int64_t memory_bytes = 0;
  double weight = 1;  // what a nanosecond of its work is worth, >= 0
  // Per window: the time that it would use if it had the device to itself.
  std::vector<int64_t> usable_ns;
};

struct SeatLimits {
  int64_t memory_bytes = 0;
  size_t seats = 0;
  std::vector<int64_t> window_ns;
  // Sets to look at before the best one so far is taken.
  int64_t steps_max = 200'000;
};

struct ResidentSet {
  std::vector<size_t> candidates;  // indices, growing
  double value = 0;                // weighted nanoseconds per cycle
  bool is_exact = true;            // no other set has a higher value
};

// The set with the highest value that fits. REQUIRES: usable_ns has an entry per window.
ResidentSet ChooseResidents(const std::vector<ResidentCandidate>& candidates,
                            const SeatLimits& limits);

}  // namespace pipefill

#endif  // PLANNER_PACKING_H_
