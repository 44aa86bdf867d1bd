// Reads the trace that a scenario names, whatever its format.
//
// Pure but for `open`.
#ifndef SIMULATOR_TRACES_READ_TRACE_H_
#define SIMULATOR_TRACES_READ_TRACE_H_

#include <functional>
#include <memory>
#include <streambuf>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "simulator/traces/table_format.h"
#include "simulator/traces/trace.h"

namespace pipefill::simulator {

struct TraceSpec {
  std::string format = {};  // of table_format.h, or "philly"
  std::string file = {};
  // With alibaba-v2020, where `file` is pai_task_table: pai_job_table and pai_instance_table.
  // Empty: none.
  std::string job_file = {};
  std::string instance_file = {};
  // Where they are not as the format has them; "philly" has submit, user and status.
  TraceColumns columns = {};
  double per_gpu = 0;          // 0: as the format has it
  std::string time_zone = {};  // of dates without one; empty: UTC

  bool operator==(const TraceSpec&) const = default;
};

struct TraceFile {
  std::unique_ptr<std::streambuf> bytes;
  // What went wrong below; asked once `bytes` is at its end.
  std::function<absl::Status()> status;
};
using OpenTraceFile = std::function<absl::StatusOr<TraceFile>(const std::string& path)>;

// InvalidArgument, in one line, if the specification makes no sense.
absl::Status CheckTraceSpec(const TraceSpec& spec);

// `zone` is that of spec.time_zone. InvalidArgument, in one line with the file and line;
// ResourceExhausted if the trace is too large; what `open` says. REQUIRES: CheckTraceSpec accepts.
absl::StatusOr<Trace> ReadTrace(const TraceSpec& spec, absl::TimeZone zone,
                                const OpenTraceFile& open);

}  // namespace pipefill::simulator

#endif  // SIMULATOR_TRACES_READ_TRACE_H_
