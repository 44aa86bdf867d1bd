#include "cli/report/trace_source.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/words.h"
#include "common/files.h"
#include "common/status.h"

namespace pipefill {
namespace {

constexpr int32_t kPieceBytes = 1 << 20;
// An agent gives up its oldest records while we read: then the pieces do not fit together.
constexpr int kReadTries = 3;

// False if bytes between two pieces are gone.
absl::StatusOr<bool> ReadWhole(SchedulerClient& client, const std::string& node,
                               std::string* bytes) {
  v1::ReadContentRequest request;
  request.set_kind(v1::CONTENT_KIND_TRACE);
  request.set_node(node);
  request.set_limit(kPieceBytes);
  while (static_cast<int64_t>(bytes->size()) < kTraceMaxBytes) {
    ASSIGN_OR_RETURN(const v1::ReadContentResponse piece, client.ReadContent(request));
    const int64_t begin = piece.next_offset() - static_cast<int64_t>(piece.data().size());
    if (begin > request.offset() && !bytes->empty()) return false;
    bytes->append(piece.data());
    if (piece.at_end() || piece.data().empty()) break;
    request.set_offset(piece.next_offset());
  }
  return true;
}

absl::StatusOr<TraceBytes> FetchTrace(SchedulerClient& client, const std::string& node) {
  TraceBytes trace;
  trace.source = node;
  for (int i = 0; i < kReadTries; ++i) {
    trace.bytes.clear();
    ASSIGN_OR_RETURN(const bool is_whole, ReadWhole(client, node, &trace.bytes));
    if (is_whole) return trace;
  }
  return absl::UnavailableError(
      "its trace is given up faster than it can be read; raise trace_max");
}

JobRecord RecordOf(const v1::Job& job) {
  JobRecord record;
  record.id = job.id();
  record.state = Word(job.state());
  record.is_terminal = IsTerminal(job.state());
  record.is_succeeded = job.state() == v1::JOB_STATE_SUCCEEDED;
  record.attempts = job.attempts_size();
  for (const v1::Attempt& attempt : job.attempts()) {
    const bool is_ended = attempt.state() == v1::ATTEMPT_STATE_ENDED;
    const bool is_good =
        is_ended && attempt.end_cause() == v1::END_CAUSE_EXITED && attempt.exit_code() == 0;
    record.attempts_live += is_ended ? 0 : 1;
    record.attempts_succeeded += is_good ? 1 : 0;
    record.last_succeeded = is_good;
  }
  return record;
}

}  // namespace

absl::StatusOr<FetchedTraces> FetchTraces(SchedulerClient& client) {
  ASSIGN_OR_RETURN(const v1::ListDevicesResponse response, client.ListDevices());
  std::set<std::string> nodes;
  for (const v1::Device& device : response.devices()) nodes.insert(device.node());
  if (nodes.empty()) {
    return absl::FailedPreconditionError(
        "no agent is connected, so there is no trace to report on; start agentd, or name files "
        "with "
        "--trace");
  }
  FetchedTraces fetched;
  for (const std::string& node : nodes) {
    absl::StatusOr<TraceBytes> trace = FetchTrace(client, node);
    if (trace.ok()) {
      fetched.traces.push_back(*std::move(trace));
    } else {
      fetched.missing.push_back(
          absl::StrCat("no trace from ", node, ": ", trace.status().message()));
    }
  }
  if (fetched.traces.empty()) {
    return absl::UnavailableError(absl::StrJoin(fetched.missing, "; "));
  }
  return fetched;
}

absl::StatusOr<std::vector<JobRecord>> FetchJobs(SchedulerClient& client) {
  std::vector<JobRecord> records;
  v1::ListJobsRequest request;
  request.set_limit(1000);
  do {
    ASSIGN_OR_RETURN(const v1::ListJobsResponse response, client.ListJobs(request));
    for (const v1::Job& job : response.jobs()) records.push_back(RecordOf(job));
    request.set_cursor(response.next_cursor());
  } while (request.cursor() != 0);
  return records;
}

absl::StatusOr<TraceBytes> ReadTraceFile(const std::string& path) {
  TraceBytes trace;
  trace.source = path;
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) {
    ASSIGN_OR_RETURN(trace.bytes, ReadFile(path));
    return trace;
  }
  const std::filesystem::path folder(path);
  if (std::filesystem::exists(folder / "trace.1.pb", error)) {
    ASSIGN_OR_RETURN(trace.bytes, ReadFile((folder / "trace.1.pb").string()));
  }
  ASSIGN_OR_RETURN(const std::string newer, ReadFile((folder / "trace.pb").string()));
  trace.bytes += newer;
  return trace;
}

absl::StatusOr<AloneRun> ReadAloneFile(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  const auto integer = [&json](const char* key) -> int64_t {
    if (!json.is_object() || !json.contains(key) || !json[key].is_number_integer()) return -1;
    return json[key].get<int64_t>();
  };
  const AloneRun alone = {.units = integer("units"), .unit_cpu_ns = integer("unit_cpu_ns")};
  const bool is_sound = alone.units > 0 && alone.units < kTimeMaxNs && alone.unit_cpu_ns >= 0 &&
                        alone.unit_cpu_ns < kTimeMaxNs;
  if (is_sound) return alone;
  return absl::InvalidArgumentError(
      absl::StrCat("no run of a job alone: file=", path,
                   "; it needs {\"units\": N, \"unit_cpu_ns\": TOTAL} with N above 0"));
}

}  // namespace pipefill
