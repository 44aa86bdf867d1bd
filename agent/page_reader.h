// Drains the rings of the pages that ranks and tasks write.
//
// Everything in these pages is somebody else's input: a record that makes no sense (unknown kind,
// slot out of range, time running backwards or far in the future) is counted and skipped, whatever
// it says, and no value can make a reader loop for more than one ring's length.
//
// Thread-compatible: one loop drains. The writer of the page is another process.
#ifndef AGENT_PAGE_READER_H_
#define AGENT_PAGE_READER_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "client/pages/signal_page.h"
#include "client/pages/task_page.h"
#include "common/instant.h"

namespace pipefill {

// A record may be this much later than the `now` handed to Drain: it may be written meanwhile.
inline constexpr uint64_t kRecordAheadMaxNs = 1'000'000'000;

// Records of one drain, oldest first.
template <typename Record>
struct Drained {
  std::vector<Record> records;
  uint64_t dropped = 0;   // overwritten before they were read
  uint64_t rejected = 0;  // made no sense
};

struct SlotName {
  BubbleClass bubble_class = BubbleClass::kCustom;
  uint32_t ordinal = 0;
};

class SignalReader {
 public:
  // `page` outlives the reader.
  explicit SignalReader(const SignalPage& page) : page_(page) {}

  // What came since the last call. An edge that is returned: its kind is known; times grow (equal
  // ones are fine); bubble edges have the seq parity of their kind, and a slot that has a name, or
  // kNoSlot (a bubble beyond kBubbleSlots distinct names); edges of other kinds that carry no slot
  // have kNoSlot.
  Drained<EdgeEvent> Drain(Instant now);

  // Nothing while the slot is unused, or if its name makes no sense.
  std::optional<SlotName> NameOf(uint32_t slot) const;

 private:
  bool Accept(uint64_t latest_ns, EdgeEvent& edge);

  const SignalPage& page_;
  uint64_t next_ = 0;     // sequence of the ring's next record
  uint64_t last_ns_ = 0;  // time of the last edge taken
};

// What a task page says of checkpoints.
struct CheckpointView {
  bool has_hooks = false;
  bool is_resumed = false;
  int64_t saves_done = 0;
  int64_t saves_failed = 0;
  int64_t save_end_ns = 0;  // 0 = none yet
  int64_t save_cost_ns = 0;
  int64_t unsaved_ns = 0;
  uint64_t resumed_fence = 0;
  int64_t resumed_number = 0;
  int64_t resumed_useful_ns = 0;
};

// The task page beside its ring.
struct TaskView {
  TaskState state = TaskState::kStarting;
  // Of the unit in progress; nothing between units.
  std::optional<Instant> unit_start;
  uint32_t last_slot = kNoSlot;
  int64_t unit_estimate_ns = 0;
  int64_t units_done = 0;
  int64_t bubbles_denied = 0;
  int64_t pieces_done = 0;  // as of the last Drain
  CheckpointView checkpoint;
};

class TaskReader {
 public:
  // `page` outlives the reader.
  explicit TaskReader(const TaskPage& page) : page_(page) {}

  // What came since the last call. A unit that is returned: bubble_begin <= start <= end; ends grow
  // over the units of a task (starts may overlap the unit before: that is for the trace checker to
  // find); its slot is in range or
  // kFailureSlot; every number fits into an int64_t; its CPU time is at most
  // kUnitCoresMax times its length.
  Drained<UnitRecord> Drain(Instant now);

  // Numbers that make no sense are 0, unknown states kStarting.
  TaskView View() const;

 private:
  bool Accept(uint64_t latest_ns, const UnitRecord& unit);
  CheckpointView ViewCheckpoint() const;

  const TaskPage& page_;
  uint64_t next_ = 0;
  uint64_t last_ns_ = 0;
  uint32_t pieces_seen_ = 0;  // in the page, where they wrap
  int64_t pieces_done_ = 0;
};

inline constexpr uint64_t kUnitCoresMax = 4096;

}  // namespace pipefill

#endif  // AGENT_PAGE_READER_H_
