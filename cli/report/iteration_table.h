// The iterations of one run of a main job, over all its ranks, and which of them count.
//
//   run         attachments of ranks of one main job that overlap in time
//   iteration   its ranks' parts put together by number; its time is the mean of the ranks' times
//   held out    by client/pages/hold_out.h with the pattern that the trace names
//
// An iteration is used for the comparison of filled with held-out ones (kCounted) unless one of
// these, in this order, keeps it out:
//
//   kNotWhole    an edge of it is missing on some rank, or a rank's part is
//   kStoodStill  the rank stood still in it (a failure): its time says nothing about filling
//   kFirst       among the first `skip_first` of the run: warming up, nothing learned yet
//   kBeforeFill  before the first unit of the run          kAfterFill   after the last one
//   kStartUp     on some rank's device a task was starting up: launched, but before its first unit;
//                kStartUpMaxNs after its launch it counts as waiting (others have the bubbles)
//   kNoTask      no device had a task that waited or ran through all of it
//
// The same rules for filled and held-out iterations: else they would be chosen by their outcome.
//
// Pure.
#ifndef CLI_REPORT_ITERATION_TABLE_H_
#define CLI_REPORT_ITERATION_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/report/paired_ratio.h"
#include "cli/report/trace.h"

namespace pipefill {

enum class IterationUse {
  kCounted,
  kNotWhole,
  kStoodStill,
  kFirst,
  kBeforeFill,
  kAfterFill,
  kStartUp,
  kNoTask
};

inline constexpr int64_t kStartUpMaxNs = 60'000'000'000;

// What one rank did in one iteration.
struct IterationPart {
  size_t rank = 0;       // index into Trace::ranks
  size_t iteration = 0;  // index into RankTrace::iterations
  // A task on the rank's device waited or ran a unit through all of it: from its first unit to its
  // last, or to the end of the trace if it has not ended.
  bool has_task = false;
  bool is_start_up = false;
};

struct IterationRow {
  uint64_t number = 0;
  bool is_held_out = false;
  IterationUse use = IterationUse::kNotWhole;
  double time_ns = 0;  // 0 if not whole
  std::vector<IterationPart> parts;
};

struct IterationTable {
  std::string main_job;
  std::vector<size_t> ranks;  // indices into Trace::ranks, by rank number
  HoldOut hold_out;           // of the first rank's agent
  bool has_units = false;
  std::vector<IterationRow> rows;  // by number
};

// The runs of `main_job`, in order of time; empty if the trace has none.
std::vector<IterationTable> MakeIterationTables(const Trace& trace, const std::string& main_job,
                                                int skip_first);

// Blocks further than this from the hold-out of their group are no neighbours.
inline constexpr uint64_t kNeighbourBlocks = 8;
// In blocks of at least this many iterations the first one is left out: it still feels the block
// before.
inline constexpr uint32_t kBlockWithWashOut = 4;

// One pair per group of hold_out.h that has counted iterations of both kinds: those of its held-out
// block against those of its filled blocks at most kNeighbourBlocks away. Groups do not overlap, so
// pairs are independent of each other but for what the machine does.
std::vector<IterationPair> PairNeighbours(const IterationTable& table);

}  // namespace pipefill

#endif  // CLI_REPORT_ITERATION_TABLE_H_
