// The one decision behind every window: how late in a bubble may a unit still start?
//
//   0                        t        t + u
//   |------- bubble ---------|==unit==|            L = length of the bubble, known only afterwards
//   begin                       ^ end at L: the unit overruns by max(0, t + u - L)
//
// A unit that starts at offset t, while the bubble is still open (L > t), may be expected to
// overrun by no more than a share of its own length:
//
//   g(t) = E[ max(0, t + u - L) | L > t ]  <=  overrun_ratio * u
//
// with the kept lengths themselves as the distribution of L. Between two of them g grows in
// straight pieces, and at each of them it falls (that length no longer counts), so g <=
// overrun_ratio * u may hold again behind a first offset that breaks it. A gate has one cut-off per
// unit length, and a promise must hold for every start before it: the answer is the last offset
// before g exceeds the bound for the first time.
//
// What follows: over the kept lengths, any number of starts at fixed offsets up to the cut-off
// overrun by at most overrun_ratio of the unit time started. The cut-off lies before the longest
// kept length. It never grows with u and never falls with overrun_ratio.
//
// Pure.
#ifndef AGENT_LEARN_LATEST_START_H_
#define AGENT_LEARN_LATEST_START_H_

#include <cstddef>
#include <cstdint>
#include <span>

namespace pipefill {

// Offset in ns, rounded down; kNever (client/pages/window_page.h) if g(0) already exceeds the
// bound, or if there are no lengths. O(number of lengths). REQUIRES: `lengths_ns` grows, each in
// [1, kBubbleLengthMaxNs]; unit_ns > 0; 0 < overrun_ratio < 1.
int64_t FindLatestStart(std::span<const int64_t> lengths_ns, int64_t unit_ns, double overrun_ratio);

// The same, and why it is not later: with `piece` = k the bound breaks before the k-th kept length
// (from 0), so of the lengths only those from k on count. With the lengths and overrun_ratio given,
// `piece` never grows with the unit, and where it stays the same the cut-off is a concave function
// of the unit that falls by at most 1 ns per ns.
struct StartLimit {
  int64_t start_ns = -1;  // kNever
  size_t piece = 0;
};
StartLimit FindStartLimit(std::span<const int64_t> lengths_ns, int64_t unit_ns,
                          double overrun_ratio);

// Longer bubbles count as this long, so that sums stay exact.
inline constexpr int64_t kBubbleLengthMaxNs = int64_t{3'600} * 1'000'000'000;

}  // namespace pipefill

#endif  // AGENT_LEARN_LATEST_START_H_
