// The part of placement_bench.cc that drives a whole ClusterState.
//
// Thread-compatible.
#ifndef TESTS_BENCHMARKS_PLACEMENT_STATE_H_
#define TESTS_BENCHMARKS_PLACEMENT_STATE_H_

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace pipefill {

struct StateFigures {
  std::vector<double> ms;                                // per tick
  std::map<std::string, std::vector<double>> phases_ms;  // of the same ticks
  size_t placements = 0;
};

// `cpu_ms` tells the CPU time so far.
StateFigures MeasureState(int devices, int jobs, const std::function<double()>& cpu_ms);

}  // namespace pipefill

#endif  // TESTS_BENCHMARKS_PLACEMENT_STATE_H_
