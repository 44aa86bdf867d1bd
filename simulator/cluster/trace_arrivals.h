// What a workload takes of a trace: which jobs, when they arrive, and of which class they are.
//
// Pure: chance, which decides only what a trace does not tell, comes from a seed.
#ifndef SIMULATOR_CLUSTER_TRACE_ARRIVALS_H_
#define SIMULATOR_CLUSTER_TRACE_ARRIVALS_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "simulator/cluster/workload.h"
#include "simulator/traces/trace.h"

namespace pipefill::simulator {

inline constexpr size_t kTraceArrivalsMax = 1'000'000;

// Jobs of at most so many hours become one of these classes, by their weights.
struct TraceSize {
  double device_hours_max = std::numeric_limits<double>::infinity();
  std::vector<size_t> classes = {};  // indices, at least one
};

struct TraceRules {
  std::vector<std::string> statuses = {};  // empty: all
  // A fill job has one device; one that asked for several does all their work on it.
  double gpus_max = 1;
  double device_hours_min = 0;
  double device_hours_max = std::numeric_limits<double>::infinity();
  // After the trace's first submission; where the simulation starts.
  absl::Duration begin = absl::ZeroDuration();
  double speed_up = 1;                // > 0
  std::vector<TraceSize> sizes = {};  // at least one; the first that a job fits counts
  absl::Duration horizon = absl::ZeroDuration();
  uint64_t seed = 1;
};

// Sets `given` and `trace_rows`. In one line: InvalidArgument if none of the trace's jobs is used,
// ResourceExhausted beyond kTraceArrivalsMax. REQUIRES: CheckWorkload accepts the workload.
absl::Status AddTraceArrivals(const Trace& trace, const TraceRules& rules, Workload& workload);

}  // namespace pipefill::simulator

#endif  // SIMULATOR_CLUSTER_TRACE_ARRIVALS_H_
