// Splits the CPU time of a unit into the part inside the bubble in which it started, and its overrun.
// The one formula behind every filled share and every overrun: agentd's progress and statistics, the
// report and the timeline.
//
// Only the unit's total CPU time is measured, so the split is an estimate. While its bubble is open a
// unit has the device for itself; once the bubble is over, the main job preempts it (idle priority)
// and its wall time says nothing. So the CPU time up to the bubble's end is taken to be all of the wall
// time up to there, and at most what was measured; the rest came later and is overrun. A unit that was
// over before its bubble has no overrun, however many threads it ran.
//
//      bubble  |==========================|
//      unit A       |----------|                     cpu 10, all inside
//      unit B                      |------ . . ---|  cpu 9: wall inside 7 -> 7 inside, 2 overrun
//
// Standard library only. *Pure.*
#ifndef CLIENT_PAGES_UNIT_SPLIT_H_
#define CLIENT_PAGES_UNIT_SPLIT_H_

#include <algorithm>
#include <cstdint>

namespace pipefill {

struct UnitSplit {
  int64_t in_bubble_ns = 0;
  int64_t overrun_ns = 0;  // in_bubble_ns + overrun_ns == cpu_ns
};

// Times are CLOCK_MONOTONIC in nanoseconds; `bubble_end_ns` of a bubble that is still open is INT64_MAX.
// Values come from other processes: none of them makes this overflow, and negative CPU time is 0.
inline UnitSplit SplitUnit(int64_t start_ns, int64_t end_ns, int64_t cpu_ns, int64_t bubble_end_ns) {
  const int64_t cpu = std::max<int64_t>(cpu_ns, 0);
  if (end_ns <= bubble_end_ns) return {.in_bubble_ns = cpu, .overrun_ns = 0};
  if (bubble_end_ns <= start_ns) return {.in_bubble_ns = 0, .overrun_ns = cpu};
  // Unsigned: the distance of any two int64_t, the larger first, fits.
  const uint64_t inside = static_cast<uint64_t>(bubble_end_ns) - static_cast<uint64_t>(start_ns);
  const int64_t in_bubble =
      inside < static_cast<uint64_t>(cpu) ? static_cast<int64_t>(inside) : cpu;
  return {.in_bubble_ns = in_bubble, .overrun_ns = cpu - in_bubble};
}

}  // namespace pipefill

#endif  // CLIENT_PAGES_UNIT_SPLIT_H_
