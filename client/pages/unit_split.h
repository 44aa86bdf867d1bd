// How much of a unit's CPU time counts as inside its bubble, and how much as overrun. The one
// definition, used by agentd for its running totals and by the report for its figures.
//
//        start        bubble's end      end
//   ------|===============|=============|------     room = bubble's end - start
//
// A unit's CPU time is in the bubble up to the room it had; the rest is overrun. CPU time, because
// a unit of idle priority that the main job preempts in mid-unit lasts long but takes nothing. A
// unit that used several cores at once (CPU time above end - start) had that many times the room.
//
// Pure.
#ifndef CLIENT_PAGES_UNIT_SPLIT_H_
#define CLIENT_PAGES_UNIT_SPLIT_H_

#include <cstdint>

namespace pipefill {

struct UnitSpan {
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
  uint64_t cpu_ns = 0;
};

// in_bubble_ns + overrun_ns == cpu_ns.
struct UnitSplit {
  uint64_t in_bubble_ns = 0;
  uint64_t overrun_ns = 0;
};

// The end of a bubble whose end nobody knows (its edge was overwritten before it was read): all of
// the unit counts as overrun, so that a figure is never better than what happened.
inline constexpr uint64_t kBubbleEndUnknown = 0;

// A bubble that was open when its rank left ends at that moment.
inline UnitSplit SplitUnit(const UnitSpan& unit, uint64_t bubble_end_ns) {
  if (bubble_end_ns <= unit.start_ns) return {.in_bubble_ns = 0, .overrun_ns = unit.cpu_ns};
  if (bubble_end_ns >= unit.end_ns) return {.in_bubble_ns = unit.cpu_ns, .overrun_ns = 0};
  const uint64_t room_ns = bubble_end_ns - unit.start_ns;
  const uint64_t wall_ns = unit.end_ns - unit.start_ns;
  uint64_t in_bubble_ns = unit.cpu_ns < room_ns ? unit.cpu_ns : room_ns;
  if (unit.cpu_ns > wall_ns) {
    const double share = static_cast<double>(room_ns) / static_cast<double>(wall_ns);
    in_bubble_ns = static_cast<uint64_t>(static_cast<double>(unit.cpu_ns) * share);
  }
  return {.in_bubble_ns = in_bubble_ns, .overrun_ns = unit.cpu_ns - in_bubble_ns};
}

}  // namespace pipefill

#endif  // CLIENT_PAGES_UNIT_SPLIT_H_
