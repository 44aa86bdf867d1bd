// What the runs of a sweep differ in, as the axes of charts: sizes and numbers to draw lines over,
// policies and other words to draw bars for.
//
// Pure.
#ifndef CLI_SIM_SIM_DIMENSION_H_
#define CLI_SIM_SIM_DIMENSION_H_

#include <cstddef>
#include <string>
#include <vector>

#include "cli/sim/sim_run.h"

namespace pipefill {

enum class DimensionKind {
  kSize,    // the number of devices changes
  kPolicy,  // the policy does
  kNumber,  // a field that is a number, a size or a time
  kWord,    // anything else
};

// One sweep.
struct Dimension {
  DimensionKind kind = DimensionKind::kWord;
  std::string field;                // the first one: "training.memory_free"
  std::string title;                // for an axis: "free memory of a device, GiB"
  std::vector<std::string> labels;  // one per value
  std::vector<double> numbers;      // of kSize and kNumber, in the unit of the title
};

// Runs that differ in one dimension only.
struct RunSeries {
  std::string name;          // what they have in common; "" if there is only one series
  std::vector<size_t> runs;  // indices, in the order of the dimension's values
};

// One per sweep with at least two values. REQUIRES: `outcomes` are those of ExpandRuns' runs.
std::vector<Dimension> DimensionsOf(const std::vector<SimSweep>& sweeps,
                                    const std::vector<SimOutcome>& outcomes);

// The runs along a dimension, once per combination of the others.
std::vector<RunSeries> SeriesAlong(const std::vector<Dimension>& dimensions, size_t along);

// What tells the run from the others: "fifo, 1000"; "" if it is the only one.
std::string RunName(const std::vector<Dimension>& dimensions, size_t run);

}  // namespace pipefill

#endif  // CLI_SIM_SIM_DIMENSION_H_
