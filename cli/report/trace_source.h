// Where `pipefill report` gets its bytes: from the agents, through schedulerd, or from files.
//
// Thread-compatible: blocks; one call at a time.
#ifndef CLI_REPORT_TRACE_SOURCE_H_
#define CLI_REPORT_TRACE_SOURCE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/report/figures.h"
#include "cli/report/trace_checker.h"
#include "cli/report/trace_reader.h"
#include "client/submit/scheduler_client.h"

namespace pipefill {

// Of one node; what lies beyond is left out, and the reader counts it as a torn tail at most.
inline constexpr int64_t kTraceMaxBytes = int64_t{1} << 30;

struct FetchedTraces {
  std::vector<TraceBytes> traces;
  // One line per node whose trace could not be read.
  std::vector<std::string> missing;
};

// The traces of all nodes that have a device. Unavailable if none of them could be read;
// FailedPrecondition if no agent is connected.
absl::StatusOr<FetchedTraces> FetchTraces(SchedulerClient& client);

// Every job that the scheduler knows.
absl::StatusOr<std::vector<JobRecord>> FetchJobs(SchedulerClient& client);

// A trace file, or the trace folder of an agent (trace.1.pb, then trace.pb). NotFound or
// PermissionDenied as the file system says.
absl::StatusOr<TraceBytes> ReadTraceFile(const std::string& path);

// What a job wrote about its run alone: JSON with the integers units (> 0) and unit_cpu_ns; other
// keys are allowed. InvalidArgument names the file and what is missing.
absl::StatusOr<AloneRun> ReadAloneFile(const std::string& path);

}  // namespace pipefill

#endif  // CLI_REPORT_TRACE_SOURCE_H_
