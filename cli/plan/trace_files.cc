#include "cli/plan/trace_files.h"

#include <filesystem>
#include <istream>
#include <memory>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "cli/plan/kineto_plan.h"
#include "cli/plan/kineto_reader.h"
#include "cli/plan/recorded_plan.h"
#include "cli/report/trace_reader.h"
#include "cli/report/trace_source.h"
#include "common/gzip_stream.h"
#include "common/status.h"

namespace pipefill {
namespace {

enum class FileKind { kKineto, kRecorded };

// JSON begins with a bracket and what may stand behind it. What agentd records begins with the
// length of a record, which may be a bracket's number, and a field's, which is none of the others.
absl::StatusOr<FileKind> KindOf(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return FileKind::kRecorded;
  ASSIGN_OR_RETURN(const std::unique_ptr<GzipBuffer> buffer, GzipBuffer::Open(path));
  std::istream in(buffer.get());
  char first = 0;
  char second = 0;
  in >> first >> second;  // skips blanks
  RETURN_IF_ERROR(buffer->status());
  if (first == 0) return absl::InvalidArgumentError(absl::StrCat(path, ": the file is empty"));
  const bool is_object = first == '{' && (second == '"' || second == '}');
  const bool is_list = first == '[' && (second == '{' || second == ']');
  return is_object || is_list ? FileKind::kKineto : FileKind::kRecorded;
}

absl::StatusOr<GpuTrace> ReadKinetoFile(const std::string& path) {
  ASSIGN_OR_RETURN(const std::unique_ptr<GzipBuffer> buffer, GzipBuffer::Open(path));
  std::istream in(buffer.get());
  absl::StatusOr<GpuTrace> trace = ReadKineto(in, path);
  // What the parser says of a broken file is only where it broke.
  RETURN_IF_ERROR(buffer->status());
  return trace;
}

absl::StatusOr<IdlePlan> PlanOfRecords(const std::vector<std::string>& paths) {
  std::vector<TraceBytes> bytes;
  for (const std::string& path : paths) {
    ASSIGN_OR_RETURN(TraceBytes one, ReadTraceFile(path));
    bytes.push_back(std::move(one));
  }
  const Trace trace = ReadTraces(bytes);
  return PlanOfRecord(trace, paths.front());
}

}  // namespace

absl::StatusOr<IdlePlan> PlanOfTraceFiles(const std::vector<std::string>& paths,
                                          int64_t gap_min_ns) {
  std::vector<GpuTrace> traces;
  std::vector<std::string> records;
  for (const std::string& path : paths) {
    ASSIGN_OR_RETURN(const FileKind kind, KindOf(path));
    if (kind == FileKind::kRecorded) {
      records.push_back(path);
      continue;
    }
    ASSIGN_OR_RETURN(GpuTrace trace, ReadKinetoFile(path));
    traces.push_back(std::move(trace));
  }
  if (!records.empty() && !traces.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(records.front(), " was recorded by agentd, ",
                                                   traces.front().source,
                                                   " by a profiler; give one kind"));
  }
  return records.empty() ? PlanOfTraces(traces, gap_min_ns) : PlanOfRecords(records);
}

}  // namespace pipefill
