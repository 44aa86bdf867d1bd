// Reads a trace that is a table: each row a job.
//
// Pure but for the stream that it reads.
#ifndef SIMULATOR_TRACES_JOB_TABLE_H_
#define SIMULATOR_TRACES_JOB_TABLE_H_

#include <istream>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "simulator/traces/alibaba_tables.h"
#include "simulator/traces/table_format.h"
#include "simulator/traces/trace_builder.h"

namespace pipefill::simulator {

struct JobTableOptions {
  TableFormat format;   // with what the scenario says of columns and per_gpu
  TraceColumns named;   // columns that the scenario names, and the file must have
  absl::TimeZone zone;  // of dates without one
  const AlibabaTables* joined = nullptr;
};

// Reads to the end. InvalidArgument, in one line with the file and line, if it is no such table.
absl::Status ReadJobTable(std::istream& in, const std::string& source,
                          const JobTableOptions& options, TraceBuilder& builder);

}  // namespace pipefill::simulator

#endif  // SIMULATOR_TRACES_JOB_TABLE_H_
