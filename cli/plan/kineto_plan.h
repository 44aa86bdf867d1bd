// What is idle on the GPUs of a profiled training run.
//
//   work       kernels, but for those of communication (nccl, rccl), and copies on their streams
//   chunk      work without a pause of at least gap_min_ns
//   iteration  from one ProfilerStep mark to the next (the last one only if its mark goes on
//              behind its work); without marks the shortest stretch of kernels after which the
//              same names come again
//   bubble     a pause of at least gap_min_ns; number k is the one after k chunks
//
// Iterations need not have the same number of chunks: lengths by number are those of the iterations
// with the most common one, shares are those of all.
//
// Pure.
#ifndef CLI_PLAN_KINETO_PLAN_H_
#define CLI_PLAN_KINETO_PLAN_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/plan/idle_plan.h"
#include "cli/plan/kineto_reader.h"

namespace pipefill {

inline constexpr int64_t kGapMinNs = 500'000;

// Traces of several ranks, side by side. InvalidArgument, naming the file: no GPU in it, no whole
// iteration, two files of one rank. REQUIRES: gap_min_ns > 0, at least one trace.
absl::StatusOr<IdlePlan> PlanOfTraces(const std::vector<GpuTrace>& traces, int64_t gap_min_ns);

}  // namespace pipefill

#endif  // CLI_PLAN_KINETO_PLAN_H_
