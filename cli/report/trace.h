// A run as its trace recorded it: main-job ranks with their iterations and bubbles, fill tasks with
// their units. Everything that `pipefill report` says is computed from this and from nothing else.
//
//   Trace
//     starts[]   one per start of an agentd: node, hold-outs, how its clock relates to wall time
//     ranks[]    one per attachment of a main-job rank -> iterations[], bubbles[], chunks[],
//                failures[], controls[]
//     tasks[]    one per attachment of a fill task     -> units[], samples[], ends[]
//
// Times are CLOCK_MONOTONIC of the start's node, in [0, kTimeMaxNs); durations and CPU times are in
// [0, kTimeMaxNs) too. Intervals are half open. Everything is in the order in which it was
// recorded.
//
// Pure data.
#ifndef CLI_REPORT_TRACE_H_
#define CLI_REPORT_TRACE_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/pages/hold_out.h"
#include "client/pages/signal_page.h"
#include "client/pages/unit_split.h"
#include "client/pages/window_page.h"

namespace pipefill {

// Records with a time at or above this (36 years) are malformed: sums of a few never overflow.
inline constexpr int64_t kTimeMaxNs = int64_t{1} << 60;
// Index of "none" in the vectors of a Trace.
inline constexpr size_t kNone = static_cast<size_t>(-1);

struct AgentStart {
  std::string source;  // what the bytes were read from: a file or a node
  std::string node;
  int64_t start_ns = 0;
  int64_t last_ns = 0;         // latest time in any of its records
  int64_t unix_offset_ns = 0;  // wall time = monotonic time + this; to draw nodes side by side only
  HoldOut hold_out;
};

struct BubbleName {
  BubbleClass bubble_class = BubbleClass::kCustom;
  int32_t ordinal = 0;
  friend auto operator<=>(const BubbleName&, const BubbleName&) = default;
};

struct Bubble {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;  // of one that is not closed: the last time known of its rank
  uint64_t iteration = 0;
  uint32_t seq = 0;  // odd
  int32_t slot = 0;
  bool is_closed = false;  // its end was recorded
  // It began in an iteration whose begin was recorded. It may end in a later one, where nothing
  // lies between a tail and the next head; it counts where it began.
  bool is_in_iteration = false;
  bool is_offered = false;  // units could start in it, hold-outs aside
};

// The rank stood still: its device was one open-ended bubble.
struct Failure {
  int64_t begin_ns = 0;  // when the agent saw it
  int64_t end_ns = 0;    // its next edge, or when the agent took the offer back
  uint32_t seq = 0;
};

// From now_ns on filling goes like this, as its agent decided.
struct ControlPoint {
  int64_t now_ns = 0;
  std::string state;         // a word: "filling", "backed_off", ...
  std::string text;          // why
  double overrun_ratio = 0;  // lambda: promised overrun per unit time
  // Absent while nothing is known.
  std::optional<double> slowdown;
  std::optional<double> slowdown_low;
  std::optional<double> slowdown_high;
  double budget = 0;
  int64_t back_offs = 0;
};

enum class ChunkKind : uint8_t { kForward = 1, kBackward = 2, kOptimizer = 3, kOther = 4 };

struct Chunk {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  ChunkKind kind = ChunkKind::kOther;
};

struct Iteration {
  uint64_t number = 0;
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  // Its bubbles are bubbles[bubbles_begin, bubbles_end) of the rank.
  size_t bubbles_begin = 0;
  size_t bubbles_end = 0;
  // Both edges were recorded, nothing was dropped in between, and every bubble of it is closed.
  bool is_whole = false;
};

struct RankTrace {
  size_t start = 0;  // index into Trace::starts
  std::string device;
  std::string main_job;
  int32_t rank = 0;
  int32_t ranks = 1;
  int32_t stage = 0;
  int32_t stages = 1;
  int64_t attached_ns = 0;
  std::optional<int64_t> detached_ns;
  std::map<int32_t, BubbleName> names;  // by slot
  std::vector<Iteration> iterations;
  std::vector<Bubble> bubbles;
  std::vector<Chunk> chunks;
  std::vector<Failure> failures;       // apart from bubbles, which they may lie in
  std::vector<ControlPoint> controls;  // by time
  // What the trace knows about it begins and ends here; older records may have been given up.
  int64_t first_edge_ns = 0;
  int64_t last_edge_ns = 0;
  int64_t edges_dropped = 0;
  // False if its RankAttached was not in the trace: only the key was known.
  bool is_declared = false;
  // Its agent recorded which bubbles it offered.
  bool says_offered = false;
};

struct UnitTrace {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int64_t cpu_ns = 0;
  size_t rank = kNone;  // index into Trace::ranks; kNone = a rank the trace does not know
  // The bubble that the gate saw.
  uint32_t seq = 0;
  uint32_t seq_after = 0;
  int32_t slot = 0;
  int64_t bubble_begin_ns = 0;
  uint64_t iteration = 0;
  int64_t latest_start_ns = 0;  // offset from bubble_begin_ns; negative = never
  int64_t estimate_ns = 0;

  // It started because the rank stood still, in a Failure and in no bubble.
  bool is_of_failure() const { return slot == static_cast<int32_t>(kFailureSlot); }
};

struct TaskSampleTrace {
  int64_t now_ns = 0;
  int64_t memory_bytes = 0;
  int64_t cpu_ns = 0;
};

struct TaskEnd {
  int64_t now_ns = 0;
  std::string cause;  // "exited", "signalled", ...
  int32_t exit_code = 0;
  int32_t signal = 0;
};

struct TaskTrace {
  size_t start = 0;  // index into Trace::starts
  std::string device;
  int64_t job_id = 0;
  int32_t attempt = 0;
  uint64_t fence = 0;
  std::string job_name;
  int64_t memory_bytes = 0;  // cap; 0 = none
  int64_t launched_ns = 0;
  std::vector<UnitTrace> units;
  std::vector<TaskSampleTrace> samples;
  std::vector<TaskEnd> ends;  // one, in a sound trace of a run that is over
  int64_t units_dropped = 0;
  bool is_declared = false;  // as in RankTrace
};

// What was read, and what could not be made sense of. None of it is fatal.
struct ReadCounts {
  int64_t records = 0;
  int64_t unknown = 0;     // record types of a newer version
  int64_t malformed = 0;   // impossible values, broken messages, edges that close nothing
  int64_t torn_bytes = 0;  // tail of a source that is no whole record
};

struct Trace {
  std::vector<AgentStart> starts;
  std::vector<RankTrace> ranks;
  std::vector<TaskTrace> tasks;
  ReadCounts counts;
};

// The unit's CPU time inside `bubble` and after it. Of a bubble whose end was dropped nothing is
// known: all counts as after it, so that no figure is better than what happened.
UnitSplit SplitOf(const UnitTrace& unit, const Bubble& bubble);
UnitSplit SplitOf(const UnitTrace& unit, const Failure& failure);

// What held for the rank at `now_ns`: index into `controls`, or kNone if nothing was recorded
// before.
size_t ControlAt(const std::vector<ControlPoint>& controls, int64_t now_ns);

// Finds the bubbles of one rank by their signal word.
class BubbleIndex {
 public:
  // Copies what it needs of `rank`.
  explicit BubbleIndex(const RankTrace& rank);
  // Index into RankTrace::bubbles, or kNone.
  size_t Find(uint32_t seq) const;

 private:
  std::vector<std::pair<uint32_t, size_t>> by_seq_;  // sorted
};

// Wall time in nanoseconds of `ns` on the clock of `start`; for drawing only.
inline int64_t UnixNs(const AgentStart& start, int64_t ns) { return ns + start.unix_offset_ns; }

// "head 0", "middle 0", ...
std::string BubbleText(const BubbleName& name);
// The name of the slot, or custom with the slot's number.
BubbleName NameOfSlot(const RankTrace& rank, int32_t slot);

}  // namespace pipefill

#endif  // CLI_REPORT_TRACE_H_
