#include "cli/job_move.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "cli/job_ref.h"
#include "cli/json.h"
#include "cli/options.h"
#include "cli/words.h"
#include "common/status.h"

namespace pipefill {
namespace {

struct MoveOptions {
  std::string job;
  std::string to;
  OutputFormat format = OutputFormat::kTable;
};

// All but the job.
absl::StatusOr<v1::MoveJobRequest> ReadRequest(const MoveOptions& options) {
  v1::MoveJobRequest request;
  if (options.to.empty()) return request;
  const size_t slash = options.to.find('/');
  if (slash == 0 || slash == std::string::npos || slash + 1 == options.to.size()) {
    return absl::InvalidArgumentError(absl::StrCat("not a device: --to ", options.to,
                                                   "; use NODE/DEVICE, as in 'pipefill devices'"));
  }
  request.set_node(options.to.substr(0, slash));
  request.set_device(options.to.substr(slash + 1));
  return request;
}

absl::StatusOr<ExitCode> RunMove(const MoveOptions& options, CommandContext& context) {
  ASSIGN_OR_RETURN(const JobRef ref, ParseJobRef(options.job));
  ASSIGN_OR_RETURN(v1::MoveJobRequest request, ReadRequest(options));
  ASSIGN_OR_RETURN(const auto client, context.connect(context.scheduler));
  ASSIGN_OR_RETURN(const JobId id, ResolveJob(*client, ref));
  request.set_job_id(id.value());
  ASSIGN_OR_RETURN(const v1::Job job, client->MoveJob(request));
  if (options.format == OutputFormat::kJson) {
    context.out << JsonText(JobJson(job));
    return kExitOk;
  }
  const v1::Attempt* attempt = LastAttempt(job);
  context.out << "job " << job.id() << " is being moved";
  if (attempt != nullptr) {
    context.out << ": attempt " << attempt->number() << " on "
                << DeviceName(attempt->node(), attempt->device()) << " is being stopped";
  }
  context.out << "\n";
  return kExitOk;
}

}  // namespace

void AddMoveCommand(CLI::App& parent, CommandSet& commands) {
  auto options = std::make_shared<MoveOptions>();
  CLI::App* command = parent.add_subcommand("move", "Start a running job on another device");
  AddJobArgument(*command, &options->job);
  command->add_option("--to", options->to, "Where; default: where the most memory is free")
      ->type_name("NODE/DEVICE");
  AddOutputOption(*command, /*with_name=*/false, &options->format);
  commands.Add(
      {command, [options](CommandContext& context) { return RunMove(*options, context); }});
}

}  // namespace pipefill
