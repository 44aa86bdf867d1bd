// The log of jobs of Philly's clusters: each job is counted once, and what becomes one of a trace
// is one.
#include <sstream>
#include <string>

#include "absl/strings/match.h"
#include "common/check.h"
#include "simulator/traces/philly_log.h"
#include "tests/fuzz/fuzz_target.h"

namespace pipefill {

bool TakeInput(absl::string_view input) {
  std::istringstream in{std::string(input)};
  simulator::TraceBuilder builder("cluster_job_log", "job");
  const absl::Status status =
      simulator::ReadPhillyLog(in, simulator::PhillyKeys(), absl::UTCTimeZone(), builder);
  if (!status.ok()) CHECK(absl::StartsWith(status.message(), "cluster_job_log:"));
  const simulator::Trace trace = builder.Finish();
  CHECK(trace.rows.used() == static_cast<int64_t>(trace.jobs.size()));
  for (const simulator::TraceJob& job : trace.jobs) {
    CHECK(job.submitted >= trace.begin);
    CHECK(job.device_time > absl::ZeroDuration() && job.device_time < absl::InfiniteDuration());
    CHECK(job.gpus >= 1);
    CHECK(job.user < trace.names.size() && job.status < trace.names.size());
  }
  return status.ok();
}

std::vector<std::string> Seeds() {
  return {
      R"([{"status": "Pass", "vc": "v", "jobid": "application_1", "attempts": [
    {"start_time": "2017-10-07 01:12:09", "end_time": "2017-10-07 01:13:23",
     "detail": [{"ip": "m47", "gpus": ["gpu0", "gpu1"]}, {"ip": "m48", "gpus": ["gpu0"]}]},
    {"start_time": "2017-10-07 01:13:30", "end_time": null, "detail": []}],
    "submitted_time": "2017-10-07 01:11:39", "user": "u"},
   {"status": "Killed", "attempts": [], "submitted_time": "None", "user": null}])",
      R"([{"attempts": [{"start_time": 7, "end_time": 1e3, "detail": [{"gpus": ["a"]}]}]}, 3, [], {}])"};
}

}  // namespace pipefill
