// Traces of clusters that are tables, with the two that Alibaba's tasks are joined with: each row
// is counted once, and what becomes a job is one.
#include <map>
#include <memory>
#include <sstream>
#include <string>

#include "absl/strings/match.h"
#include "common/check.h"
#include "simulator/traces/read_trace.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/fuzz_target.h"

namespace pipefill {
namespace {

constexpr const char* kFormats[] = {"alibaba-v2020", "alibaba-v2023", "swf", "csv"};

simulator::TraceSpec SpecOf(uint8_t format) {
  simulator::TraceSpec spec{.format = kFormats[format % 4], .file = "trace.jobs"};
  if (spec.format == kFormats[0]) {
    spec.job_file = "trace.job_table";
    spec.instance_file = "trace.instance_table";
  }
  if (spec.format == kFormats[3]) {
    spec.columns = {.submit = "submit|queued", .start = "start", .end = "end", .gpus = "gpus"};
  }
  return spec;
}

}  // namespace

bool TakeInput(absl::string_view input) {
  InputReader reader(input);
  const simulator::TraceSpec spec = SpecOf(reader.Take<uint8_t>());
  std::map<std::string, std::string> files;
  files["trace.job_table"] = std::string(reader.TakePiece());
  files["trace.instance_table"] = std::string(reader.TakePiece());
  files["trace.jobs"] = std::string(reader.TakeRest());
  const auto open = [&](const std::string& path) -> absl::StatusOr<simulator::TraceFile> {
    return simulator::TraceFile{.bytes = std::make_unique<std::stringbuf>(files.at(path)),
                                .status = [] { return absl::OkStatus(); }};
  };
  const absl::StatusOr<simulator::Trace> trace =
      simulator::ReadTrace(spec, absl::UTCTimeZone(), open);
  if (!trace.ok()) {
    CHECK(absl::StartsWith(trace.status().message(), "trace."));
    return false;
  }
  CHECK(trace->rows.used() == static_cast<int64_t>(trace->jobs.size()));
  for (const simulator::TraceJob& job : trace->jobs) {
    CHECK(job.submitted >= trace->begin);
    CHECK(job.device_time > absl::ZeroDuration() && job.device_time < absl::InfiniteDuration());
    CHECK(job.gpus > 0);
    CHECK(job.user < trace->names.size() && job.status < trace->names.size());
  }
  for (const simulator::TraceRows& rows : trace->joined) CHECK(rows.used() >= 0);
  return true;
}

std::vector<std::string> Seeds() {
  const auto input = [](uint8_t format, const std::string& jobs, const std::string& instances,
                        const std::string& rows) {
    InputWriter writer;
    writer.Put(format).PutPiece(jobs).PutPiece(instances);
    return writer.Take() + rows;
  };
  return {
      input(0, "j1,x,ann,Terminated,10.0,900.0\nj2,y,bob,Failed,0.0,\n",
            "j1,worker,a,w,x,Terminated,20.0,80.0,m\nj1,worker,b,w,x,Running,20.0,0.0,m\n",
            "j1,worker,2.0,Terminated,20.0,90.0,600.0,29.3,50.0,V100\n"
            "j2,ps,1.0,Waiting,0.0,,600.0,29.3,,T4\n"),
      input(1, "", "",
            "name,num_gpu,gpu_milli,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
            "p0,1,460,\"L,\"\"S\",Running,0,3600,0\np1,0,0,BE,Pending,5,9,\n"),
      input(2, "", "",
            "; Version: 2.2\n1 0 5 100 4 -1 -1 4 200 -1 1 3 1 -1 1 -1 -1 -1\n"
            "2 9 -1 -1 -1 -1 -1 2 200 -1 2 3 1 -1 1 -1 -1 -1\n"),
      input(3, "", "",
            "gpus|queued|start|end\n1|2020-04-02 00:00:00|2020-04-02T00:10:00.5Z|"
            "2020-04-02 03:00:00+01:30\n2|None|7|1e3\n"),
  };
}

}  // namespace pipefill
