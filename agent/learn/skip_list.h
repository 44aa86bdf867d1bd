// The bubbles that are closed to one task alone: those of which most of its unit time lay after
// their end. The last rung before it is stopped (agent/tasks/task_machine.h): the estimates of its
// gate and the guard of the bubble have not been enough, so its units are not what it says.
//
//             of the last kSkipUnits units in the bubble more than kSkipShare overrun
//   open ----------------------------------------------------------------------------> closed
//     ^                                                                                  |
//     +-- kSkipBubbles such bubbles later; twice as many after each further time, at ----+
//         most kSkipBubblesMax
//
// One that has been open for kSkipUnits good units starts again from kSkipBubbles.
//
// Pure. Thread-compatible: one list belongs to one task and one attached rank.
#ifndef AGENT_LEARN_SKIP_LIST_H_
#define AGENT_LEARN_SKIP_LIST_H_

#include <cstdint>
#include <map>

namespace pipefill {

inline constexpr int64_t kSkipUnits = 8;
// More than any promise allows: lambda is at most 0.5 unless configured otherwise.
inline constexpr double kSkipShare = 0.6;
inline constexpr int64_t kSkipBubbles = 64;
inline constexpr int64_t kSkipBubblesMax = 4096;

struct UnitOverrun {
  int64_t cpu_ns = 0;
  int64_t overrun_ns = 0;  // part of it, after the bubble's end
};

class SkipList {
 public:
  // A unit that began in a bubble of `slot`. Returns whether the slot is closed from now on.
  bool OnUnit(uint32_t slot, const UnitOverrun& unit);
  // A bubble of `slot` is over in which units could have run. Returns whether the slot is open
  // again from now on.
  bool OnBubble(uint32_t slot);

  bool IsClosed(uint32_t slot) const;
  // Bubbles that passed while they were closed.
  int64_t bubbles_skipped() const { return bubbles_skipped_; }

 private:
  struct Slot {
    int64_t units = 0;  // since the last judgement
    int64_t cpu_ns = 0;
    int64_t overrun_ns = 0;
    int64_t to_skip = 0;  // more than 0: closed
    int64_t next_skip = kSkipBubbles;
  };

  std::map<uint32_t, Slot> slots_;
  int64_t bubbles_skipped_ = 0;
};

}  // namespace pipefill

#endif  // AGENT_LEARN_SKIP_LIST_H_
