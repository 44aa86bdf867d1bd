// The task page: what one fill task says about itself.
//
// Written by the task (its gate), read by agentd. `unit_start_ns` tells the watchdog that a unit is
// running; the ring keeps one record per finished unit.
//
// Thread-safe: one writer thread, any number of readers.
#ifndef CLIENT_PAGES_TASK_PAGE_H_
#define CLIENT_PAGES_TASK_PAGE_H_

#include "client/pages/page_layout.h"

namespace pipefill {

struct UnitRecord {
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
  uint64_t cpu_ns = 0;  // CPU time of the task's process, never wall time: see design section 5
  uint64_t bubble_begin_ns = 0;
  uint64_t iteration = 0;
  uint64_t latest_start_ns = 0;  // the offset that was allowed
  uint64_t estimate_ns = 0;      // the length that was expected
  uint32_t seq = 0;              // signal word before the gate decided
  uint32_t seq_after = 0;  // and after it had taken start_ns: equal, or the unit did not start
  uint32_t slot = 0;
  uint32_t generation = 0;  // which signal page, see WindowPage::signal_generation
};
inline constexpr size_t kUnitWords = 9;
inline constexpr size_t kUnitRecords = 4096;

inline void PackUnit(const UnitRecord& unit, uint64_t (&words)[kUnitWords]) {
  words[0] = unit.start_ns;
  words[1] = unit.end_ns;
  words[2] = unit.cpu_ns;
  words[3] = unit.bubble_begin_ns;
  words[4] = unit.iteration;
  words[5] = unit.latest_start_ns;
  words[6] = unit.estimate_ns;
  words[7] = static_cast<uint64_t>(unit.seq) | static_cast<uint64_t>(unit.seq_after) << 32;
  words[8] = static_cast<uint64_t>(unit.slot) | static_cast<uint64_t>(unit.generation) << 32;
}

inline UnitRecord UnpackUnit(const uint64_t (&words)[kUnitWords]) {
  UnitRecord unit;
  unit.start_ns = words[0];
  unit.end_ns = words[1];
  unit.cpu_ns = words[2];
  unit.bubble_begin_ns = words[3];
  unit.iteration = words[4];
  unit.latest_start_ns = words[5];
  unit.estimate_ns = words[6];
  unit.seq = static_cast<uint32_t>(words[7]);
  unit.seq_after = static_cast<uint32_t>(words[7] >> 32);
  unit.slot = static_cast<uint32_t>(words[8]);
  unit.generation = static_cast<uint32_t>(words[8] >> 32);
  return unit;
}

//   kStarting -> kWaiting <-> kInUnit;  any -> kDone
enum class TaskState : uint32_t { kStarting = 0, kWaiting = 1, kInUnit = 2, kDone = 3 };

inline constexpr uint32_t kCheckpointHooks = 1;  // the task can save
inline constexpr uint32_t kCheckpointResumed =
    2;  // and has gone on from the work of another attempt

struct TaskPage {
  PageHeader header;
  PageField<uint32_t> state;             // a TaskState
  PageField<uint32_t> last_slot;         // bubble slot of the unit in progress or done last
  PageField<uint64_t> unit_start_ns;     // of the unit in progress; 0 = none
  PageField<uint64_t> unit_estimate_ns;  // what the gate expects of the next unit
  PageField<uint64_t> units_done;
  PageField<uint64_t> bubbles_denied;  // offered bubbles in which no unit of this task fitted
  // Checkpoints: numbers of the whole attempt, also if it had other pages before this one.
  PageField<uint32_t> checkpoint_flags;  // bits of kCheckpoint*
  PageField<uint32_t> pieces_done;       // of elastic units, modulo 2^32
  PageField<uint64_t> saves_done;
  PageField<uint64_t> saves_failed;
  PageField<uint64_t> save_end_ns;        // of the last one that was done; 0 = none yet
  PageField<uint64_t> save_cost_ns;       // its unit, and writing it to disk
  PageField<uint64_t> unsaved_ns;         // CPU time of units since then: what a crash would cost
  PageField<uint64_t> resumed_fence;      // of the attempt that saved what this one went on from
  PageField<uint64_t> resumed_number;     // which of its saves that was, from 1
  PageField<uint64_t> resumed_useful_ns;  // work that was in it, over all attempts
  PageRing<kUnitWords, kUnitRecords> units;
};
static_assert(offsetof(TaskPage, state) == 16);
static_assert(offsetof(TaskPage, unit_start_ns) == 24);
static_assert(offsetof(TaskPage, pieces_done) == 60);
static_assert(offsetof(TaskPage, units) == 128);

}  // namespace pipefill

#endif  // CLIENT_PAGES_TASK_PAGE_H_
