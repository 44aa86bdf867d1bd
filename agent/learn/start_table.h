// The latest starts of one bubble for the unit lengths of the ladder, so that a gate may draw a
// straight line between two neighbouring entries and still keep the promise of latest_start.h for
// every length in between.
//
//   latest      o.                     o  FindLatestStart at the entries of the ladder
//   start       |  ` .                 .  FindLatestStart between them
//               x     ` o              x  published, where that differs
//                 `x. . |
//   unit length u0      u1
//
// While one and the same kept length sets the limit, the exact cut-off is concave in the unit
// length and the line lies below it: the entries are exact. Where longer units meet an earlier
// limit, the cut-off falls, all at once or step by step. Inside such an interval of the ladder up
// to 2^kHalvings pieces are looked at, each with the value of its longer end, which is safe for all
// of it because the cut-off never grows with the unit; the shorter entry is lowered until the line
// stays below them.
//
// Lengths below the first entry have that entry's latest start. No line leads to an entry that is
// kNever: units longer than the entry before it may not start.
//
// Pure.
#ifndef AGENT_LEARN_START_TABLE_H_
#define AGENT_LEARN_START_TABLE_H_

#include <array>
#include <cstdint>
#include <span>

#include "client/pages/window_page.h"

namespace pipefill {

using UnitLadder = std::array<int64_t, kUnitLadder>;

// Dense where units of CPU fill jobs are (0.3 - 20 ms).
inline constexpr UnitLadder kDefaultUnitLadder = {
    100'000,   200'000,   300'000,   500'000,    700'000,    1'000'000,  1'500'000,   2'000'000,
    3'000'000, 5'000'000, 7'000'000, 10'000'000, 20'000'000, 50'000'000, 100'000'000, 300'000'000};

// Per entry of the ladder: an offset from the bubble's begin, or kNever; never growing. REQUIRES:
// as FindLatestStart; `unit_ns` grows.
UnitLadder MakeStartTable(std::span<const int64_t> lengths_ns, const UnitLadder& unit_ns,
                          double overrun_ratio);

}  // namespace pipefill

#endif  // AGENT_LEARN_START_TABLE_H_
