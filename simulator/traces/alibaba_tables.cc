#include "simulator/traces/alibaba_tables.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "simulator/traces/field.h"
#include "simulator/traces/table.h"
#include "simulator/traces/table_format.h"

namespace pipefill::simulator {
namespace {

// No blank can be in either name.
std::string KeyOf(absl::string_view job, absl::string_view task) {
  return absl::StrCat(job, " ", task);
}

// 0 is written where there is no time.
Field<double> TimeOf(absl::string_view text) {
  Field<double> time = ParseNumber(text);
  if (time.state == FieldState::kGood && time.value == 0) time.state = FieldState::kMissing;
  return time;
}

}  // namespace

absl::Status AlibabaTables::ReadJobs(std::istream& in, const std::string& source,
                                     TraceBuilder& builder) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Table> table, Table::Open(in, source, AlibabaJobLayout()));
  ASSIGN_OR_RETURN(const size_t name, table->Column("job_name"));
  ASSIGN_OR_RETURN(const size_t user, table->Column("user"));
  ASSIGN_OR_RETURN(const size_t submitted, table->Column("start_time"));
  TraceRows rows{.source = source};
  while (table->Next()) {
    ++rows.rows;
    const Field<double> time = TimeOf(table->field(submitted));
    if (table->is_broken() || time.state == FieldState::kBroken) {
      rows.Skip(SkipReason::kBroken, table->line());
      continue;
    }
    Job& job = jobs_[table->field(name)];
    job.user = builder.NameOf(table->field(user));
    if (time.state == FieldState::kGood) job.submitted = absl::Seconds(time.value);
  }
  builder.AddJoined(std::move(rows));
  return table->status();
}

absl::Status AlibabaTables::ReadInstances(std::istream& in, const std::string& source,
                                          TraceBuilder& builder) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Table> table,
                   Table::Open(in, source, AlibabaInstanceLayout()));
  ASSIGN_OR_RETURN(const size_t job, table->Column("job_name"));
  ASSIGN_OR_RETURN(const size_t task, table->Column("task_name"));
  ASSIGN_OR_RETURN(const size_t start_column, table->Column("start_time"));
  ASSIGN_OR_RETURN(const size_t end_column, table->Column("end_time"));
  TraceRows rows{.source = source};
  while (table->Next()) {
    ++rows.rows;
    const Field<double> start = TimeOf(table->field(start_column));
    const Field<double> end = TimeOf(table->field(end_column));
    const bool is_broken = start.state == FieldState::kBroken || end.state == FieldState::kBroken;
    const bool is_run = start.state == FieldState::kGood && end.state == FieldState::kGood;
    if (table->is_broken() || is_broken) {
      rows.Skip(SkipReason::kBroken, table->line());
    } else if (!is_run) {
      rows.Skip(SkipReason::kNoRun, table->line());
    } else if (end.value < start.value) {
      rows.Skip(SkipReason::kEndsBeforeStart, table->line());
    } else {
      runs_[KeyOf(table->field(job), table->field(task))] += absl::Seconds(end.value - start.value);
    }
  }
  builder.AddJoined(std::move(rows));
  return table->status();
}

const AlibabaTables::Job* AlibabaTables::FindJob(absl::string_view job) const {
  const auto found = jobs_.find(job);
  return found == jobs_.end() ? nullptr : &found->second;
}

std::optional<absl::Duration> AlibabaTables::RunOf(absl::string_view job,
                                                   absl::string_view task) const {
  if (runs_.empty()) return std::nullopt;
  const auto found = runs_.find(KeyOf(job, task));
  return found == runs_.end() ? std::nullopt : std::optional<absl::Duration>(found->second);
}

}  // namespace pipefill::simulator
