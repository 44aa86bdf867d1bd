// Packs a chain of nodes, in order and round and round, into windows. Where a window ends before
// the next node would, that node waits for the next window.
//
// Packing in order as early as possible is optimal: who stands further on in the chain at a
// window's begin, stands no less far on at its end, so that waiting never pays.
//
// Thread-compatible: a value.
#ifndef PLANNER_CHAIN_PACKER_H_
#define PLANNER_CHAIN_PACKER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "planner/calendar.h"
#include "planner/profile.h"

namespace pipefill {

// Which of its times a node takes; what must fit a window is always the higher one, which the gate
// goes by, except with kMeanFits.
enum class NodeTime { kMean, kHigh, kMeanFits };

class ChainPacker {
 public:
  // REQUIRES: CheckProfile accepts the configuration, which outlives this.
  ChainPacker(const Configuration& configuration, NodeTime time);

  // Runs what fits into `window`; goes on where it stopped. Returns the time used.
  int64_t Pack(const Window& window);

  // What is left of a window to one of several that take turns.
  struct Turn {
    int64_t offset_ns = 0;          // since the window's begin
    int64_t budget_ns = INT64_MAX;  // no node starts once this much was used
  };
  // The same for one turn. 0 if the next node does not fit.
  int64_t PackTurn(const Window& window, const Turn& turn);

  // Units done so far, and the place in the chain, in units from its begin.
  int64_t units() const { return units_; }
  int64_t position() const { return run_begins_[run_] + done_; }
  int64_t units_per_pass() const { return run_begins_.back(); }
  // What comes next, as an index into the chain.
  size_t next_node() const { return run_; }
  // Nodes and windows looked at so far: what packing costs.
  int64_t steps() const { return steps_; }

 private:
  struct Run {
    int64_t time_ns;
    int64_t fit_ns;
    int64_t memory_bytes;
    int64_t repeats;
  };

  void Advance(int64_t units);
  // Whole passes at once, as many as surely fit.
  int64_t PackPasses(const Window& window);

  std::vector<Run> runs_;
  std::vector<int64_t> run_begins_;  // in units; one more than runs
  int64_t pass_ns_ = 0;
  int64_t fit_max_ns_ = 0;
  int64_t memory_max_bytes_ = 0;
  size_t run_ = 0;
  int64_t done_ = 0;  // repeats of the run
  int64_t units_ = 0;
  int64_t steps_ = 0;
};

}  // namespace pipefill

#endif  // PLANNER_CHAIN_PACKER_H_
