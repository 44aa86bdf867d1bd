// What a timeline shows of one run: per device the main job's work, its bubbles, and the units in
// them, as shapes with times. The page and the static picture draw the same shapes.
//
// Pure.
#ifndef CLI_REPORT_TIMELINE_H_
#define CLI_REPORT_TIMELINE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/report/figures.h"
#include "cli/report/iteration_table.h"
#include "cli/report/trace.h"

namespace pipefill {

// Times are nanoseconds from Timeline::origin_unix_ns; intervals are half open.
struct TimelineIteration {
  uint64_t number = 0;
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  bool is_held_out = false;
};

// Work of the main job: a chunk; or, of a main job that reports no chunks, all that is no bubble.
struct TimelineWork {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  ChunkKind kind = ChunkKind::kOther;
};

struct TimelineBubble {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  size_t name = 0;  // index into Timeline::bubble_names
  int64_t filled_ns = 0;
};

struct TimelineUnit {
  int64_t begin_ns = 0;
  int64_t inside_end_ns = 0;  // its end, or that of its bubble if that came first
  int64_t end_ns = 0;
  int64_t cpu_ns = 0;
  int64_t overrun_ns = 0;  // CPU time after inside_end_ns
  size_t job = 0;          // index into Timeline::jobs
};

struct TimelineDevice {
  std::string name;  // "node/device"
  int32_t rank = 0;
  int32_t stage = 0;
  std::vector<TimelineIteration> iterations;
  std::vector<TimelineWork> work;
  std::vector<TimelineBubble> bubbles;
  std::vector<TimelineUnit> units;  // by begin
};

struct TimelineJob {
  int64_t id = 0;
  std::string name;
};

struct Timeline {
  int64_t origin_unix_ns = 0;  // begin of the run's first iteration
  std::vector<TimelineDevice> devices;
  std::vector<std::string> bubble_names;
  std::vector<TimelineJob> jobs;  // those of Figures

  // Begin of the first and end of the last iteration shown; 0 if there is none.
  int64_t begin_ns() const;
  int64_t end_ns() const;
};

// Rows [begin, end) of an IterationTable.
struct RowRange {
  size_t begin = 0;
  size_t end = 0;
};

// The run to draw: the one with the most rows. REQUIRES: figures.runs is not empty.
const IterationTable& RunToDraw(const Figures& figures);

// About `count` rows that show what is typical: in the middle of the counted ones, `before` of them
// filled, then the first of a hold-out; without hold-outs just the middle. All rows if there are
// fewer.
RowRange RepresentativeRows(const IterationTable& run, size_t count, size_t before);

// The largest range around the representative rows with at most about `shapes_max` shapes.
RowRange RowsWithin(const Trace& trace, const IterationTable& run, size_t shapes_max);

// Of RunToDraw(figures). Jobs are those of `figures`, so that every part of the report gives one
// job one colour. REQUIRES: figures were computed from `trace`; `rows` lies in that run.
Timeline MakeTimeline(const Trace& trace, const Figures& figures, RowRange rows);

}  // namespace pipefill

#endif  // CLI_REPORT_TIMELINE_H_
