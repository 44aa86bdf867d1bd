#include "cli/jobs.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/job_filter_options.h"
#include "cli/json.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/words.h"
#include "common/status.h"

namespace pipefill {
namespace {

constexpr int64_t kPageJobs = 200;

struct JobsOptions {
  bool wants_all = false;
  bool only_active = false;
  int32_t limit = 20;
  JobFilterOptions filter;
  std::string array;  // only its tasks; "" = all jobs, of arrays the whole
  OutputFormat format = OutputFormat::kTable;
};

struct JobPage {
  std::vector<v1::Job> jobs;
  bool has_more = false;
};

// `array`: only its tasks; 0 = all jobs.
absl::StatusOr<JobPage> FetchJobs(SchedulerClient& client, const JobsOptions& options,
                                  JobId array) {
  const int64_t limit = options.wants_all ? std::numeric_limits<int64_t>::max() : options.limit;
  JobPage page;
  int64_t cursor = 0;
  do {
    const int64_t missing = limit - static_cast<int64_t>(page.jobs.size());
    v1::ListJobsRequest request;
    request.set_limit(static_cast<int32_t>(std::min(missing, kPageJobs)));
    request.set_cursor(cursor);
    request.set_active_only(options.only_active);
    request.set_selector(options.filter.selector);
    request.set_tenant(options.filter.tenant);
    request.set_name(options.filter.name);
    for (const v1::JobState state : options.filter.states) request.add_states(state);
    request.set_held_only(options.filter.is_held_only);
    request.set_array_id(array.value());
    ASSIGN_OR_RETURN(v1::ListJobsResponse response, client.ListJobs(request));
    for (v1::Job& job : *response.mutable_jobs()) page.jobs.push_back(std::move(job));
    cursor = response.next_cursor();
  } while (cursor != 0 && static_cast<int64_t>(page.jobs.size()) < limit);
  page.has_more = cursor != 0;
  return page;
}

// Columns that most sites do not need are there once they say something.
struct Extras {
  explicit Extras(const std::vector<v1::Job>& jobs) {
    for (const v1::Job& job : jobs) {
      has_priorities = has_priorities || job.spec().priority() != 0;
      has_tenants =
          has_tenants || (!job.spec().tenant().empty() && job.spec().tenant() != "default");
    }
  }

  bool has_priorities = false;
  bool has_tenants = false;
};

std::vector<Column> ColumnsFor(const Extras& extras) {
  std::vector<Column> columns = {
      {"ID", Align::kRight}, {"NAME", Align::kLeft, /*can_shrink=*/true}, {"STATE"}};
  if (extras.has_priorities) columns.push_back({"PRIO", Align::kRight});
  if (extras.has_tenants) columns.push_back({"TENANT", Align::kLeft, /*can_shrink=*/true});
  for (const Column& column : std::vector<Column>{{"DEVICE", Align::kLeft, /*can_shrink=*/true},
                                                  {"UNITS", Align::kRight},
                                                  {"AGE", Align::kRight},
                                                  {"DETAIL", Align::kLeft, /*can_shrink=*/true}}) {
    columns.push_back(column);
  }
  return columns;
}

std::string TableText(const std::vector<v1::Job>& jobs, absl::Time now) {
  const Extras extras(jobs);
  Table table(ColumnsFor(extras));
  for (const v1::Job& job : jobs) {
    const v1::Attempt* attempt = LastAttempt(job);
    const bool was_placed = attempt != nullptr && job.state() != v1::JOB_STATE_PENDING;
    std::vector<std::string> row = {JobLabel(job), JobName(job), Word(job.state())};
    if (extras.has_priorities) row.push_back(absl::StrCat(job.spec().priority()));
    if (extras.has_tenants) row.push_back(job.spec().tenant());
    row.push_back(was_placed ? DeviceName(attempt->node(), attempt->device()) : "");
    row.push_back(was_placed ? FormatCount(attempt->progress().units()) : "");
    row.push_back(FormatSpan(now - absl::FromUnixNanos(job.submitted_unix_ns())));
    row.push_back(ShortDetail(job));
    table.AddRow(std::move(row));
  }
  return table.Text();
}

void PrintTable(const JobPage& page, const JobsOptions& options, CommandContext& context) {
  if (!page.jobs.empty()) {
    context.out << TableText(page.jobs, context.clock.WallNow());
  } else if (options.filter.is_given()) {
    context.err << "pipefill: no job fits; 'pipefill jobs' lists all\n";
  } else if (!options.array.empty()) {
    context.err << "pipefill: no task of job " << options.array
                << " waits, runs or ended lately; see 'pipefill job show " << options.array
                << "'\n";
  } else if (options.only_active) {
    context.err << "pipefill: no job is pending or running; 'pipefill jobs' lists ended ones too\n";
  } else {
    context.err << "pipefill: no jobs yet; submit one with: pipefill submit -- python3 job.py\n";
  }
  if (page.has_more) {
    context.err << "pipefill: older jobs are not shown; 'pipefill jobs --all' lists all\n";
  }
}

absl::StatusOr<ExitCode> RunJobs(const JobsOptions& options, CommandContext& context) {
  JobId array;
  if (!options.array.empty()) {
    ASSIGN_OR_RETURN(array, ParseJobId(options.array));
  }
  ASSIGN_OR_RETURN(const auto client, context.connect(context.scheduler));
  ASSIGN_OR_RETURN(const JobPage page, FetchJobs(*client, options, array));
  switch (options.format) {
    case OutputFormat::kTable:
      PrintTable(page, options, context);
      break;
    case OutputFormat::kJson: {
      Json json;
      json["jobs"] = Json::array();
      for (const v1::Job& job : page.jobs) json["jobs"].push_back(JobJson(job));
      json["has_more"] = page.has_more;
      context.out << JsonText(json);
      break;
    }
    case OutputFormat::kName:
      for (const v1::Job& job : page.jobs) context.out << job.id() << "\n";
      break;
  }
  return kExitOk;
}

}  // namespace

void AddJobsCommand(CLI::App& parent, CommandSet& commands) {
  auto options = std::make_shared<JobsOptions>();
  CLI::App* command = parent.add_subcommand("jobs", "List jobs, newest first");
  CLI::Option* all = command->add_flag("--all", options->wants_all, "However many there are");
  command->add_flag("--active", options->only_active, "Only pending and running ones");
  command->add_option("--array", options->array, "Only tasks of this array that have a record")
      ->type_name("JOB");
  AddNumberOption(*command, {"--limit", "At most that many; default: 20"}, &options->limit)
      ->excludes(all);
  AddJobFilterOptions(*command, &options->filter);
  AddOutputOption(*command, /*with_name=*/true, &options->format);
  commands.Add(
      {command, [options](CommandContext& context) { return RunJobs(*options, context); }});
}

}  // namespace pipefill
