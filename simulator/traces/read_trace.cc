#include "simulator/traces/read_trace.h"

#include <istream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "simulator/traces/alibaba_tables.h"
#include "simulator/traces/job_table.h"
#include "simulator/traces/philly_log.h"
#include "simulator/traces/trace_builder.h"

namespace pipefill::simulator {
namespace {

constexpr char kPhilly[] = "philly";
constexpr char kAlibabaTasks[] = "alibaba-v2020";

using ReadStream = std::function<absl::Status(std::istream&)>;

absl::Status ReadFrom(const std::string& path, const OpenTraceFile& open, const ReadStream& read) {
  ASSIGN_OR_RETURN(const TraceFile file, open(path));
  std::istream in(file.bytes.get());
  const absl::Status status = read(in);
  // What a reader says of a broken file is only where it broke.
  RETURN_IF_ERROR(file.status());
  return status;
}

void Override(const std::string& named, std::string& column) {
  if (!named.empty()) column = named;
}

TraceColumns WithNamed(TraceColumns columns, const TraceColumns& named) {
  Override(named.submit, columns.submit);
  Override(named.start, columns.start);
  Override(named.end, columns.end);
  Override(named.duration, columns.duration);
  Override(named.gpus, columns.gpus);
  Override(named.instances, columns.instances);
  Override(named.user, columns.user);
  Override(named.status, columns.status);
  return columns;
}

absl::Status ReadJobs(const TraceSpec& spec, absl::TimeZone zone, const OpenTraceFile& open,
                      TraceBuilder& builder) {
  if (spec.format == kPhilly) {
    PhillyKeys keys;
    Override(spec.columns.submit, keys.submit);
    Override(spec.columns.user, keys.user);
    Override(spec.columns.status, keys.status);
    return ReadFrom(spec.file, open,
                    [&](std::istream& in) { return ReadPhillyLog(in, keys, zone, builder); });
  }
  JobTableOptions options{
      .format = *FindTableFormat(spec.format), .named = spec.columns, .zone = zone};
  options.format.columns = WithNamed(options.format.columns, spec.columns);
  if (spec.per_gpu > 0) options.format.per_gpu = spec.per_gpu;
  AlibabaTables joined;
  if (!spec.job_file.empty()) {
    RETURN_IF_ERROR(ReadFrom(spec.job_file, open, [&](std::istream& in) {
      return joined.ReadJobs(in, spec.job_file, builder);
    }));
  }
  if (!spec.instance_file.empty()) {
    RETURN_IF_ERROR(ReadFrom(spec.instance_file, open, [&](std::istream& in) {
      return joined.ReadInstances(in, spec.instance_file, builder);
    }));
  }
  if (spec.format == kAlibabaTasks) options.joined = &joined;
  return ReadFrom(spec.file, open,
                  [&](std::istream& in) { return ReadJobTable(in, spec.file, options, builder); });
}

}  // namespace

absl::Status CheckTraceSpec(const TraceSpec& spec) {
  const bool is_philly = spec.format == kPhilly;
  if (!is_philly && FindTableFormat(spec.format) == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        "format: \"", spec.format, "\" is none of alibaba-v2020, alibaba-v2023, philly, swf, csv"));
  }
  if (spec.file.empty()) return absl::InvalidArgumentError("file: must be given");
  const bool is_joined = !spec.job_file.empty() || !spec.instance_file.empty();
  if (is_joined && spec.format != kAlibabaTasks) {
    return absl::InvalidArgumentError(
        absl::StrCat("job_file, instance_file: only for format ", kAlibabaTasks));
  }
  const TraceColumns& columns = spec.columns;
  const bool is_beyond_philly = !columns.start.empty() || !columns.end.empty() ||
                                !columns.duration.empty() || !columns.gpus.empty() ||
                                !columns.instances.empty() || spec.per_gpu != 0;
  if (is_philly && is_beyond_philly) {
    return absl::InvalidArgumentError("columns: format philly takes submit, user and status alone");
  }
  if (!(spec.per_gpu >= 0 && spec.per_gpu <= 1e9)) {
    return absl::InvalidArgumentError("per_gpu: must be 0 to 1e9");
  }
  return absl::OkStatus();
}

absl::StatusOr<Trace> ReadTrace(const TraceSpec& spec, absl::TimeZone zone,
                                const OpenTraceFile& open) {
  TraceBuilder builder(spec.file, spec.format == kPhilly ? "job" : "line");
  RETURN_IF_ERROR(ReadJobs(spec, zone, open, builder));
  return builder.Finish();
}

}  // namespace pipefill::simulator
