// Reads trace files of any kind and plans from them.
//
// Thread-compatible: blocks; one call at a time.
#ifndef CLI_PLAN_TRACE_FILES_H_
#define CLI_PLAN_TRACE_FILES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/plan/idle_plan.h"

namespace pipefill {

// `paths`: of the PyTorch profiler, one file of each rank, compressed or not; or of agentd, files
// or their folders. Never both. Errors name the file. REQUIRES: at least one path.
absl::StatusOr<IdlePlan> PlanOfTraceFiles(const std::vector<std::string>& paths,
                                          int64_t gap_min_ns);

}  // namespace pipefill

#endif  // CLI_PLAN_TRACE_FILES_H_
