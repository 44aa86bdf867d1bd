// Job files: an error names the file and the line; what schedulerd accepts of one it accepts again,
// and it comes back the same.
#include "absl/strings/match.h"
#include "cli/job_file.h"
#include "common/check.h"
#include "scheduler/convert/convert.h"
#include "scheduler/service/validate.h"
#include "tests/fuzz/fuzz_target.h"

namespace pipefill {

bool TakeInput(absl::string_view input) {
  const absl::Time now = absl::FromUnixSeconds(1'700'000'000);
  const absl::StatusOr<v1::JobSpec> file = ParseJobFile(input, "job.json", now);
  if (!file.ok()) {
    CHECK(absl::StartsWith(file.status().message(), "job.json:"));
    return false;
  }
  v1::SubmitJobRequest request;
  *request.mutable_spec() = *file;
  const auto spec = scheduler::ReadSpec(request, {.spec_max_bytes = 1 << 30});
  if (!spec.ok()) return false;
  *request.mutable_spec() = scheduler::ToProto(*spec);
  CHECK(scheduler::ReadSpec(request, {.spec_max_bytes = 1 << 30}).value() == *spec);
  return true;
}

std::vector<std::string> Seeds() {
  return {R"({"command": ["python3", "embed.py"], "memory": "512MiB"})",
          R"(// all of it
{
  "name": "embed", "command": ["python3", "embed.py", "--all"], "env": {"A": "b"},
  "workdir": "/data", "memory": "1.5 GiB", "retries": 2, "way": "process", "priority": -3,
  "tenant": "research", "deadline": "2026-12-24T18:00:00Z", "min_runtime": "5m",
  "evictable": false, "allow_infeasible": true,
  "profile": {"configurations": [
    {"name": "b8", "batch_size": 8, "nodes": [{"time_ns": 1000000, "memory_bytes": "4096"}]}],
    "samples_total": 900}
})",
          R"({"command": ["x"], "deadline": "2h30m"})"};
}

}  // namespace pipefill
