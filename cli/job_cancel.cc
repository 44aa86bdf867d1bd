#include "cli/job_cancel.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "cli/job_ref.h"
#include "cli/json.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/words.h"
#include "common/status.h"

namespace pipefill {
namespace {

struct CancelOptions {
  std::vector<std::string> jobs;
  OutputFormat format = OutputFormat::kTable;
};

void PrintCancelled(const v1::Job& job, std::ostream& out) {
  out << "job " << JobLabel(job);
  if (job.state() == v1::JOB_STATE_CANCELLED) {
    out << " cancelled\n";
    return;
  }
  const v1::Attempt* attempt = LastAttempt(job);
  out << " is being cancelled";
  if (attempt != nullptr) {
    out << ": attempt " << attempt->number() << " on "
        << DeviceName(attempt->node(), attempt->device()) << " is being stopped";
  }
  if (job.has_array()) out << ": " << Plural(job.array().running(), "task") << " being stopped";
  out << "\n";
}

absl::StatusOr<v1::Job> CancelOne(SchedulerClient& client, const JobRef& ref) {
  ASSIGN_OR_RETURN(const JobId id, ResolveJob(client, ref));
  return client.CancelJob(id);
}

absl::StatusOr<ExitCode> RunCancel(const CancelOptions& options, CommandContext& context) {
  std::vector<JobRef> refs;
  for (const std::string& text : options.jobs) {
    ASSIGN_OR_RETURN(const JobRef ref, ParseJobRef(text));
    refs.push_back(ref);
  }
  ASSIGN_OR_RETURN(const auto client, context.connect(context.scheduler));
  Json jobs = Json::array();
  absl::Status error;
  for (const JobRef& ref : refs) {
    const absl::StatusOr<v1::Job> job = CancelOne(*client, ref);
    if (!job.ok()) {
      if (!error.ok()) context.err << "pipefill: " << error.message() << "\n";
      error = job.status();
      continue;
    }
    if (options.format == OutputFormat::kTable) PrintCancelled(*job, context.out);
    jobs.push_back(JobJson(*job));
  }
  if (options.format == OutputFormat::kJson) context.out << JsonText({{"jobs", jobs}});
  if (!error.ok()) return error;
  return kExitOk;
}

}  // namespace

void AddCancelCommand(CLI::App& parent, CommandSet& commands) {
  auto options = std::make_shared<CancelOptions>();
  CLI::App* command = parent.add_subcommand("cancel", "Stop jobs");
  command->add_option("JOB", options->jobs, "Numbers of the jobs; JOB_INDEX of a task")
      ->required()
      ->type_name("");
  AddOutputOption(*command, /*with_name=*/false, &options->format);
  commands.Add(
      {command, [options](CommandContext& context) { return RunCancel(*options, context); }});
}

}  // namespace pipefill
