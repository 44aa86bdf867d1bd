#include "cli/why.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "cli/job_ref.h"
#include "cli/json.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/words.h"
#include "common/quantity.h"
#include "common/status.h"

namespace pipefill {
namespace {

struct WhyOptions {
  std::string job;
  OutputFormat format = OutputFormat::kTable;
};

std::string NearestText(const v1::PendingDetail& pending) {
  if (pending.nearest_node().empty()) return "none has a main job to fill";
  return DeviceName(pending.nearest_node(), pending.nearest_device());
}

std::string WaitingText(const v1::Job& job) {
  const v1::PendingDetail& pending = job.pending();
  Facts facts;
  facts.AddProse("rule", pending.rule().empty() ? LongDetail(job) : pending.rule());
  if (!job.has_pending()) return facts.Text();
  facts.Add("need", FormatBytes(pending.need_bytes()));
  facts.Add("have", pending.have_bytes() == 0
                        ? "no device with a free seat"
                        : absl::StrCat(FormatBytes(pending.have_bytes()),
                                       " at most, on a device with a free seat"));
  facts.Add("nearest", NearestText(pending));
  facts.Add("in line", pending.place() == 0 ? "not yet: it waits for its next try"
                                            : absl::StrCat(FormatCount(pending.place()), " of ",
                                                           FormatCount(pending.waiting()),
                                                           ", priority ", job.spec().priority()));
  for (const std::string& line : pending.help()) facts.AddProse("would help", line);
  return facts.Text();
}

std::string WhyText(const v1::Job& job) {
  const std::string title =
      absl::StrCat("job ", JobLabel(job), ", ", JobName(job), ", is ", Word(job.state()));
  if (job.state() == v1::JOB_STATE_PENDING) return absl::StrCat(title, "\n", WaitingText(job));
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
