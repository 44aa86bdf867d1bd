// How long a program may run before it is stopped, when only the stopping takes a time that has to
// be learned: a slice.
//
// Longer slices cost fewer looks at the gate, shorter ones fill a bubble to its end. The longest is
// taken that leaves half its length to shorter ones, as with elastic units: the promise about
// overrun is a share of the length, so only the shortest may use it up.
//
// Pure.
#ifndef CLIENT_FILL_SLICE_H_
#define CLIENT_FILL_SLICE_H_

#include <cstdint>

namespace pipefill::sdk {

// REQUIRES: 0 < min_ns <= max_ns.
struct SliceRange {
  uint64_t min_ns = 500'000;
  uint64_t max_ns = 4'000'000;
};

// How long to run, so that this and `stop_ns` fit: `range.max_ns` halved as often as needed, and
// `range.min_ns` if nothing else fits, also if that does not. `fits(length_ns)` tells whether a
// unit of that length may start now.
template <typename Fits>
uint64_t ChooseRun(SliceRange range, uint64_t stop_ns, const Fits& fits) {
  for (uint64_t run_ns = range.max_ns; run_ns > range.min_ns; run_ns /= 2) {
    const uint64_t length_ns = run_ns + stop_ns;
    if (fits(length_ns + length_ns / 2)) return run_ns;
  }
  return range.min_ns;
}

}  // namespace pipefill::sdk

#endif  // CLIENT_FILL_SLICE_H_
