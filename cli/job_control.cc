#include "cli/job_control.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "cli/job_filter_options.h"
#include "cli/job_ref.h"
#include "cli/json.h"
#include "cli/options.h"
#include "cli/words.h"
#include "common/status.h"

namespace pipefill {
namespace {

struct ControlOptions {
  std::vector<std::string> jobs;
  JobFilterOptions filter;
  bool wants_all = false;
  std::string reason;
  bool is_dry_run = false;
  OutputFormat format = OutputFormat::kTable;
};

absl::StatusOr<std::vector<JobRef>> ReadJobs(const ControlOptions& options) {
  std::vector<JobRef> jobs;
  for (const std::string& text : options.jobs) {
    ASSIGN_OR_RETURN(const JobRef job, ParseJobRef(text));
    jobs.push_back(job);
  }
  return jobs;
}

absl::StatusOr<v1::ControlJobsRequest> ReadRequest(v1::JobVerb verb,
                                                   const ControlOptions& options) {
  v1::ControlJobsRequest request;
  request.set_verb(verb);
  request.set_reason(options.reason);
  request.set_dry_run(options.is_dry_run);
  const bool has_filter = options.wants_all || options.filter.is_given();
  if (has_filter == !options.jobs.empty()) {
    return absl::InvalidArgumentError(has_filter
                                          ? "jobs and a filter are given; name jobs, or a filter"
                                          : "no job is named; name jobs, or -l SELECTOR, --tenant, "
                                            "--name, --state, --held, --all");
  }
  if (!has_filter) return request;
  v1::JobFilter& filter = *request.mutable_filter();
  filter.set_selector(options.filter.selector);
  filter.set_tenant(options.filter.tenant);
  filter.set_name(options.filter.name);
  for (const v1::JobState state : options.filter.states) filter.add_states(state);
  filter.set_held_only(options.filter.is_held_only);
  return request;
}

Json OutcomeJson(const v1::JobOutcome& outcome) {
  Json json;
  json["id"] = outcome.job_id();
  json["outcome"] = Word(outcome.outcome());
  if (outcome.state() != v1::JOB_STATE_UNSPECIFIED) json["state"] = Word(outcome.state());
  json["text"] = outcome.text();
  return json;
}

// Prints each outcome as it comes; the last refusal is the error of the command.
class OutcomePrinter {
 public:
  OutcomePrinter(const ControlOptions& options, CommandContext& context)
      : options_(options), context_(context) {
    if (options.is_dry_run) context.err << "pipefill: dry run; nothing is changed\n";
  }

  void Take(const v1::ControlJobsResponse& response) {
    for (const v1::JobOutcome& outcome : response.outcomes()) {
      ++count_;
      if (options_.format == OutputFormat::kJson) jobs_.push_back(OutcomeJson(outcome));
      if (outcome.outcome() == v1::JOB_OUTCOME_REFUSED) {
        TakeRefusal(outcome);
      } else if (options_.format == OutputFormat::kTable) {
        context_.out << "job " << outcome.job_id() << " " << outcome.text() << "\n";
      } else if (options_.format == OutputFormat::kName) {
        context_.out << outcome.job_id() << "\n";
      }
    }
  }

  absl::StatusOr<ExitCode> Finish() {
    if (options_.format == OutputFormat::kJson) context_.out << JsonText({{"jobs", jobs_}});
    if (count_ == 0) context_.err << "pipefill: the filter takes no job that is not over\n";
    if (!refusal_.ok()) return refusal_;
    return kExitOk;
  }

 private:
  void TakeRefusal(const v1::JobOutcome& outcome) {
    if (!refusal_.ok()) context_.err << "pipefill: " << refusal_.message() << "\n";
    refusal_ = absl::Status(static_cast<absl::StatusCode>(outcome.error_code()), outcome.text());
  }

  const ControlOptions& options_;
  CommandContext& context_;
  Json jobs_ = Json::array();
  int64_t count_ = 0;
  absl::Status refusal_;
};

absl::StatusOr<ExitCode> RunControl(v1::JobVerb verb, const ControlOptions& options,
                                    CommandContext& context) {
  ASSIGN_OR_RETURN(const std::vector<JobRef> jobs, ReadJobs(options));
  ASSIGN_OR_RETURN(v1::ControlJobsRequest request, ReadRequest(verb, options));
  ASSIGN_OR_RETURN(const auto client, context.connect(context.scheduler));
  for (const JobRef& job : jobs) {
    ASSIGN_OR_RETURN(const JobId id, ResolveJob(*client, job));
    request.add_job_ids(id.value());
  }
  OutcomePrinter printer(options, context);
  do {
    ASSIGN_OR_RETURN(const v1::ControlJobsResponse response, client->ControlJobs(request));
    printer.Take(response);
    request.set_cursor(response.next_cursor());
  } while (request.cursor() != 0);
  return printer.Finish();
}

void AddVerb(CommandSet& commands, v1::JobVerb verb, CLI::App* command) {
  auto options = std::make_shared<ControlOptions>();
  command->add_option("JOB", options->jobs, "Numbers of the jobs; JOB_INDEX of a task")
      ->type_name("");
  AddJobFilterOptions(*command, &options->filter);
  command->add_flag("--all", options->wants_all, "All jobs that are not over");
  command->add_option("--reason", options->reason, "Kept in the jobs' history")->type_name("TEXT");
  command->add_flag("--dry-run", options->is_dry_run, "Say what would happen, and change nothing");
  AddOutputOption(*command, /*with_name=*/true, &options->format);
  commands.Add({command, [verb, options](CommandContext& context) {
                  return RunControl(verb, *options, context);
                }});
}

}  // namespace

void AddCancelCommand(CLI::App& parent, CommandSet& commands) {
  AddVerb(commands, v1::JOB_VERB_CANCEL, parent.add_subcommand("cancel", "Stop jobs"));
}

void AddHoldCommand(CLI::App& parent, CommandSet& commands) {
  AddVerb(commands, v1::JOB_VERB_HOLD,
          parent.add_subcommand("hold", "Keep jobs from starting until they are released"));
}

void AddReleaseCommand(CLI::App& parent, CommandSet& commands) {
  AddVerb(commands, v1::JOB_VERB_RELEASE, parent.add_subcommand("release", "Let held jobs start"));
}

void AddRequeueCommand(CLI::App& parent, CommandSet& commands) {
  AddVerb(commands, v1::JOB_VERB_REQUEUE,
          parent.add_subcommand("requeue", "Stop running jobs, which then wait again"));
}

}  // namespace pipefill
