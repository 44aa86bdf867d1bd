// Reads cluster_job_log of Microsoft's Philly traces (github.com/msr-fiddle/philly-traces, schema
// in its README): a JSON list of jobs, as a stream.
//
//   {"status": "Pass", "vc": "ee9e8c", "jobid": "...", "submitted_time": "2017-10-07 01:11:39",
//    "user": "ce2f4c", "attempts": [{"start_time": "...", "end_time": "...",
//                                    "detail": [{"ip": "m47", "gpus": ["gpu0", "gpu1"]}]}]}
//
// A job's device time is that of all its attempts together; attempts without a start or an end are
// left out. Its GPUs are those of its largest attempt.
//
// Pure but for the stream that it reads.
#ifndef SIMULATOR_TRACES_PHILLY_LOG_H_
#define SIMULATOR_TRACES_PHILLY_LOG_H_

#include <istream>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "simulator/traces/trace_builder.h"

namespace pipefill::simulator {

// Keys of a job.
struct PhillyKeys {
  std::string submit = "submitted_time";
  std::string user = "user";
  std::string status = "status";
};

// Reads to the end; places are jobs in the list, from 1. InvalidArgument, in one line with the file
// and line: no JSON, cut off, no list of jobs.
absl::Status ReadPhillyLog(std::istream& in, const PhillyKeys& keys, absl::TimeZone zone,
                           TraceBuilder& builder);

}  // namespace pipefill::simulator

#endif  // SIMULATOR_TRACES_PHILLY_LOG_H_
