#include "simulator/traces/job_table.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/status.h"
#include "simulator/traces/field.h"
#include "simulator/traces/table.h"

namespace pipefill::simulator {
namespace {

// More than any cluster has: the field is not what it is taken for.
constexpr double kGpusMax = 1e6;

// Where to look for one thing, in this order; none: the file does not tell.
using Places = std::vector<size_t>;

struct ColumnPlaces {
  Places submit, start, end, duration, gpus, instances, user, status, job, task;
};

// In the words of the scenario.
absl::Status MissingColumn(const Table& table, const std::string& names, absl::string_view role) {
  const std::string first = names.substr(0, names.find('|'));
  return absl::InvalidArgumentError(absl::StrCat(table.Column(first).status().message(),
                                                 "; name the right one in workload.trace.columns.",
                                                 role));
}

struct Role {
  absl::string_view name;
  const std::string& columns;
  bool is_needed = false;
  Places& places;
};

absl::Status FindPlaces(const Table& table, const Role& role) {
  if (role.columns.empty()) return absl::OkStatus();
  for (const absl::string_view name : absl::StrSplit(role.columns, '|')) {
    const absl::StatusOr<size_t> column = table.Column(name);
    if (column.ok()) role.places.push_back(*column);
  }
  if (!role.places.empty() || !role.is_needed) return absl::OkStatus();
  return MissingColumn(table, role.columns, role.name);
}

// Without these a table cannot be read, whatever its rows are.
absl::Status CheckPlaces(const Table& table, const ColumnPlaces& places,
                         const TraceColumns& columns) {
  if (places.gpus.empty()) return MissingColumn(table, columns.gpus, "gpus");
  if (places.submit.empty() && places.start.empty()) {
    return MissingColumn(table, columns.submit, "submit");
  }
  if (!places.duration.empty()) return absl::OkStatus();
  if (places.start.empty()) return MissingColumn(table, columns.start, "start");
  if (places.end.empty()) return MissingColumn(table, columns.end, "end");
  return absl::OkStatus();
}

absl::StatusOr<ColumnPlaces> FindColumns(const Table& table, const JobTableOptions& options) {
  const TraceColumns& columns = options.format.columns;
  const TraceColumns& named = options.named;
  ColumnPlaces places;
  const Role roles[] = {
      {"submit", columns.submit, !named.submit.empty(), places.submit},
      {"start", columns.start, !named.start.empty(), places.start},
      {"end", columns.end, !named.end.empty(), places.end},
      {"duration", columns.duration, !named.duration.empty(), places.duration},
      {"gpus", columns.gpus, true, places.gpus},
      {"instances", columns.instances, true, places.instances},
      {"user", columns.user, !named.user.empty(), places.user},
      {"status", columns.status, !named.status.empty(), places.status},
  };
  for (const Role& role : roles) RETURN_IF_ERROR(FindPlaces(table, role));
  RETURN_IF_ERROR(CheckPlaces(table, places, columns));
  if (options.joined != nullptr) {
    ASSIGN_OR_RETURN(const size_t job, table.Column("job_name"));
    ASSIGN_OR_RETURN(const size_t task, table.Column("task_name"));
    places.job = {job};
    places.task = {task};
  }
  return places;
}

class RowReader {
 public:
  RowReader(const Table& table, ColumnPlaces places, const JobTableOptions& options)
      : table_(table), places_(std::move(places)), options_(options) {}

  // Fills in `job`, or says why not.
  std::optional<SkipReason> Read(TraceBuilder& builder, TraceJob& job) {
    if (table_.is_broken()) return SkipReason::kBroken;
    is_broken_ = false;
    const absl::string_view status = First(places_.status);
    const std::vector<std::string>& parts = options_.format.part_statuses;
    if (std::find(parts.begin(), parts.end(), status) != parts.end()) return SkipReason::kPart;
    const double per_instance = NumberOf(places_.gpus).value_or(0) / options_.format.per_gpu;
    const double instances = NumberOf(places_.instances).value_or(1);
    job.gpus = per_instance * instances;
    const AlibabaTables::Job* joined = Joined();
    const std::optional<absl::Duration> submitted = Submitted(joined);
    const std::optional<absl::Duration> device_time = DeviceTime(per_instance, instances);
    if (is_broken_ || job.gpus > kGpusMax) return SkipReason::kBroken;
    if (!(per_instance > 0 && instances > 0)) return SkipReason::kNoGpu;
    if (!submitted.has_value()) return SkipReason::kNoSubmission;
    if (!device_time.has_value()) return SkipReason::kNoRun;
    if (*device_time < absl::ZeroDuration()) return SkipReason::kEndsBeforeStart;
    if (*device_time == absl::ZeroDuration()) return SkipReason::kNoRun;
    job.submitted = *submitted;
    job.device_time = *device_time;
    job.status = builder.NameOf(status);
    const uint32_t user = builder.NameOf(First(places_.user));
    job.user = user == 0 && joined != nullptr ? joined->user : user;
    return std::nullopt;
  }

 private:
  absl::string_view First(const Places& places) const {
    for (const size_t place : places) {
      if (!IsMissing(table_.field(place))) return table_.field(place);
    }
    return {};
  }

  std::optional<double> NumberOf(const Places& places) {
    const Field<double> number = ParseNumber(First(places));
    is_broken_ |= number.state == FieldState::kBroken;
    if (number.state != FieldState::kGood) return std::nullopt;
    return number.value;
  }

  std::optional<absl::Duration> TimeOf(const Places& places) {
    const Field<absl::Duration> time = ParseTraceTime(First(places), options_.zone);
    is_broken_ |= time.state == FieldState::kBroken;
    if (time.state != FieldState::kGood) return std::nullopt;
    const bool is_none = options_.format.is_zero_no_time && time.value == absl::ZeroDuration();
    return is_none ? std::nullopt : std::optional<absl::Duration>(time.value);
  }

  const AlibabaTables::Job* Joined() const {
    return options_.joined == nullptr ? nullptr : options_.joined->FindJob(First(places_.job));
  }

  std::optional<absl::Duration> Submitted(const AlibabaTables::Job* joined) {
    std::optional<absl::Duration> submitted = TimeOf(places_.submit);
    if (!submitted.has_value() && joined != nullptr) submitted = joined->submitted;
    return submitted.has_value() ? submitted : TimeOf(places_.start);
  }

  // Of all instances; below 0 if it ended before it started.
  std::optional<absl::Duration> DeviceTime(double gpus, double instances) {
    if (options_.joined != nullptr) {
      const std::optional<absl::Duration> run =
          options_.joined->RunOf(First(places_.job), First(places_.task));
      if (run.has_value()) return *run * gpus;
    }
    if (const std::optional<double> seconds = NumberOf(places_.duration); seconds.has_value()) {
      return absl::Seconds(*seconds) * gpus * instances;
    }
    const std::optional<absl::Duration> start = TimeOf(places_.start);
    const std::optional<absl::Duration> end = TimeOf(places_.end);
    if (!start.has_value() || !end.has_value()) return std::nullopt;
    return (*end - *start) * gpus * instances;
  }

  const Table& table_;
  const ColumnPlaces places_;
  const JobTableOptions& options_;
  bool is_broken_ = false;  // a field of this row
};

}  // namespace

absl::Status ReadJobTable(std::istream& in, const std::string& source,
                          const JobTableOptions& options, TraceBuilder& builder) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Table> table,
                   Table::Open(in, source, options.format.layout));
  ASSIGN_OR_RETURN(ColumnPlaces places, FindColumns(*table, options));
  RowReader reader(*table, std::move(places), options);
  while (table->Next()) {
    TraceJob job;
    const std::optional<SkipReason> skipped = reader.Read(builder, job);
    RETURN_IF_ERROR(builder.AddRow(table->line(), skipped, job));
  }
  return table->status();
}

}  // namespace pipefill::simulator
