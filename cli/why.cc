#include "cli/why.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "cli/job_ref.h"
#include "cli/json.h"
#include "cli/options.h"
#include "cli/waiting_text.h"
#include "cli/words.h"
#include "common/status.h"

namespace pipefill {
namespace {

struct WhyOptions {
  std::string job;
  OutputFormat format = OutputFormat::kTable;
};

std::string WhyText(const v1::Job& job) {
  const std::string title =
      absl::StrCat("job ", JobLabel(job), ", ", JobName(job), ", is ", Word(job.state()));
  if (job.state() == v1::JOB_STATE_PENDING) return absl::StrCat(title, "\n", WaitingFacts(job));
  const std::string detail = LongDetail(job);
  return absl::StrCat(title, detail.empty() ? "" : ": ", detail, "\n");
}

absl::StatusOr<ExitCode> RunWhy(const WhyOptions& options, CommandContext& context) {
  ASSIGN_OR_RETURN(const JobRef ref, ParseJobRef(options.job));
  ASSIGN_OR_RETURN(const auto client, context.connect(context.scheduler));
  ASSIGN_OR_RETURN(const JobId id, ResolveJob(*client, ref));
  ASSIGN_OR_RETURN(const v1::Job job, client->GetJob(id));
  context.out << (options.format == OutputFormat::kJson ? JsonText(JobJson(job)) : WhyText(job));
  return kExitOk;
}

}  // namespace

void AddWhyCommand(CLI::App& parent, CommandSet& commands) {
  auto options = std::make_shared<WhyOptions>();
  CLI::App* command = parent.add_subcommand("why", "Why a job waits, and what would help");
  AddJobArgument(*command, &options->job);
  AddOutputOption(*command, /*with_name=*/false, &options->format);
  commands.Add({command, [options](CommandContext& context) { return RunWhy(*options, context); }});
}

}  // namespace pipefill
