#include "cli/submit.h"

#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <memory>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/job_file.h"
#include "cli/job_wait.h"
#include "cli/json.h"
#include "cli/output.h"
#include "common/config.h"
#include "common/environment.h"
#include "common/files.h"
#include "common/quantity.h"
#include "common/status.h"

namespace pipefill {
namespace {

// What errors call the job file.
std::string OriginOf(const std::string& file) { return file == "-" ? "standard input" : file; }

absl::StatusOr<v1::JobSpec> ReadJobFile(const std::string& file, std::istream& in, absl::Time now) {
  if (file == "-") {
    const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    return ParseJobFile(text, OriginOf(file), now);
  }
  const absl::StatusOr<std::string> text = ReadFile(file);
  if (text.ok()) return ParseJobFile(*text, file, now);
  return absl::Status(text.status().code(),
                      absl::StrCat("cannot read the job file: ", text.status().message(),
                                   "; to run a program write: pipefill submit -- ", file));
}

absl::StatusOr<int64_t> ParseMemory(const std::string& text) {
  const absl::StatusOr<int64_t> bytes = ParseBytes(text);
  if (!bytes.ok()) return WithContext(bytes.status(), "--memory");
  if (*bytes == 0) {
    return absl::InvalidArgumentError("--memory: must be more than 0; write for example 512MiB");
  }
  return *bytes;
}

absl::Status AddVariable(const std::string& text, v1::JobSpec& spec) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--env: not a variable: ", text, "; write NAME=VALUE"));
  }
  (*spec.mutable_env())[text.substr(0, equals)] = text.substr(equals + 1);
  return absl::OkStatus();
}

std::string AbsoluteFolder(const std::string& folder, const std::string& working_folder) {
  std::string path = (std::filesystem::path(working_folder) / folder).lexically_normal().string();
  if (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

// What decides when it is its turn.
absl::Status SetPlanning(const SubmitOptions& options, absl::Time now, v1::JobSpec& spec) {
  if (options.priority != SubmitOptions::kNoPriority) spec.set_priority(options.priority);
  if (!options.tenant.empty()) spec.set_tenant(options.tenant);
  if (!options.deadline.empty()) {
    const absl::StatusOr<absl::Time> deadline = ParseDeadline(options.deadline, now);
    if (!deadline.ok()) return WithContext(deadline.status(), "--deadline");
    spec.set_deadline_unix_ns(absl::ToUnixNanos(*deadline));
  }
  if (!options.min_runtime.empty()) {
    const absl::StatusOr<absl::Duration> least = ParsePositiveDuration(options.min_runtime);
    if (!least.ok()) return WithContext(least.status(), "--min-runtime");
    spec.set_min_runtime_ns(absl::ToInt64Nanoseconds(*least));
  }
  if (options.is_kept) spec.set_not_evictable(true);
  if (options.may_be_infeasible) spec.set_allow_infeasible(true);
  return absl::OkStatus();
}

absl::Status CheckHasCommand(const SubmitOptions& options, const v1::JobSpec& spec) {
  if (!spec.command().empty()) return absl::OkStatus();
  if (!options.file.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        OriginOf(options.file), ": command: missing; name the program and its arguments, as ",
        R"("command": ["python3", "job.py"])"));
  }
  return absl::InvalidArgumentError(
      "no command to run; put it behind --, as: pipefill submit -- python3 job.py");
}

// A word of the command that names a file here, but not where the job will run; "" if there is
// none.
std::string FileOutOfReach(const v1::JobSpec& spec, const std::string& working_folder) {
  if (!spec.workdir().empty()) return "";
  for (const std::string& word : spec.command()) {
    if (word.empty() || word[0] == '/' || word[0] == '-') continue;
    struct stat info {};
    const bool is_found = stat(absl::StrCat(working_folder, "/", word).c_str(), &info) == 0;
    if (is_found && S_ISREG(info.st_mode)) return word;
  }
  return "";
}

// The error of a submission that may have arrived all the same.
absl::Status WithKey(const absl::Status& status, const std::string& key) {
  const bool is_unknown = absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
  if (!is_unknown || WasNeverSent(status)) return status;
  return absl::Status(
      status.code(),
      absl::StrCat("result unknown, the job may be submitted: key=", key, "; repeat with --key ",
                   key, ", which submits it only once (", status.message(), ")"));
}

void PrintSubmitted(const v1::SubmitJobResponse& response, const SubmitOptions& options,
                    std::ostream& out) {
  switch (options.format) {
    case OutputFormat::kTable:
      out << "job " << response.job_id()
          << (response.already_existed() ? " was submitted before with this key" : " submitted")
          << std::endl;
      break;
    case OutputFormat::kJson:
      // With --wait the job itself follows, and there is one object only.
      if (options.is_waiting) break;
      out << JsonText(
          {{"job_id", response.job_id()}, {"already_existed", response.already_existed()}});
      break;
    case OutputFormat::kName:
      out << response.job_id() << std::endl;
      break;
  }
}

absl::StatusOr<ExitCode> RunSubmit(const SubmitOptions& options, CommandContext& context) {
  v1::SubmitJobRequest request;
  ASSIGN_OR_RETURN(*request.mutable_spec(), MakeJobSpec(options, context));
  request.set_key(options.key.empty() ? RandomToken() : options.key);
  ASSIGN_OR_RETURN(const auto client, context.connect(context.scheduler));
  const absl::StatusOr<v1::SubmitJobResponse> response = client->SubmitJob(request);
  if (!response.ok()) return WithKey(response.status(), request.key());
  PrintSubmitted(*response, options, context.out);
  const std::string file = FileOutOfReach(request.spec(), context.working_folder);
  if (!file.empty()) {
    context.err
        << "pipefill: note: " << OneLine(file)
        << " is a file here, but the job runs in a folder of its own; '--workdir .' runs it "
           "here\n";
  }
  if (!options.is_waiting) return kExitOk;
  return WaitForJob(context, *client, JobId(response->job_id()), WaitLimits(), options.format);
}

void AddOptions(CLI::App& command, SubmitOptions& options) {
  command.add_option("FILE", options.file, "Job file (JSON); - reads standard input")
      ->type_name("");
  command.add_option("--name", options.name, "For people; default: the program's name")
      ->type_name("NAME");
  command.add_option("--memory", options.memory, "Hard cap, as 512MiB; default: schedulerd's")
      ->type_name("SIZE");
  command.add_option("--env", options.env, "Variable for the task; may be repeated")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  command.add_option("--workdir", options.workdir, "Where it runs; default: a folder of its own")
      ->type_name("DIR");
  command.add_option("--profile", options.profile, "As 'pipefill profile -o FILE' wrote it")
      ->type_name("FILE");
  AddNumberOption(command, {"--samples", "Samples it has to do, for a forecast of its end"},
                  &options.samples);
  command.add_option("--key", options.key, "Same key and job: submitted only once")
      ->type_name("KEY");
  AddNumberOption(command, {"--retries", "Tries after one that failed; default: 0", /*min=*/0},
                  &options.retries);
  AddNumberOption(command,
                  {"--priority", "-1000..1000, higher goes first; default: 0", /*min=*/-1000},
                  &options.priority);
  command.add_option("--tenant", options.tenant, "Whose job it is; default: default")
      ->type_name("NAME");
  command.add_option("--deadline", options.deadline, "When it should be done, as 2h30m from now")
      ->type_name("TIME");
  command
      .add_option("--min-runtime", options.min_runtime, "How long it runs before it may be evicted")
      ->type_name("TIME");
  command.add_flag("--no-evict", options.is_kept, "Never evict it for jobs of higher priority");
  command.add_flag("--allow-infeasible", options.may_be_infeasible,
                   "Wait even if no device is large enough");
  command.add_flag("--process", options.is_process,
                   "Any program: it is stopped outside of bubbles");
  command.add_flag("--wait", options.is_waiting, "Wait until it is over, as 'pipefill wait'");
  AddOutputOption(command, /*with_name=*/true, &options.format);
}

}  // namespace

absl::StatusOr<v1::JobSpec> MakeJobSpec(const SubmitOptions& options, CommandContext& context) {
  v1::JobSpec spec;
  if (!options.file.empty()) {
    ASSIGN_OR_RETURN(spec, ReadJobFile(options.file, context.in, context.clock.WallNow()));
  }
  if (!options.name.empty()) spec.set_name(options.name);
  if (!options.memory.empty()) {
    ASSIGN_OR_RETURN(const int64_t memory_bytes, ParseMemory(options.memory));
    spec.set_memory_bytes(memory_bytes);
  }
  for (const std::string& variable : options.env) RETURN_IF_ERROR(AddVariable(variable, spec));
  if (!options.workdir.empty()) {
    spec.set_workdir(AbsoluteFolder(options.workdir, context.working_folder));
  }
  if (options.retries >= 0) spec.set_retries(options.retries);
  if (!options.profile.empty()) {
    spec.clear_profile();
    RETURN_IF_ERROR(
        WithContext(ReadJsonFile(options.profile, spec.mutable_profile()), "--profile"));
  }
  if (options.samples > 0) spec.mutable_profile()->set_samples_total(options.samples);
  if (options.is_process) spec.set_way(v1::FILL_WAY_PROCESS);
  RETURN_IF_ERROR(SetPlanning(options, context.clock.WallNow(), spec));
  if (context.tail.has_value() && !context.tail->empty()) {
    spec.mutable_command()->Assign(context.tail->begin(), context.tail->end());
  }
  RETURN_IF_ERROR(CheckHasCommand(options, spec));
  return spec;
}

void AddSubmitCommand(CLI::App& parent, CommandSet& commands) {
  auto options = std::make_shared<SubmitOptions>();
  CLI::App* command = parent.add_subcommand("submit", "Submit a fill job");
  AddOptions(*command, *options);
  command->footer(
      "Either a job file, or a program behind --:\n"
      "  pipefill submit job.json\n"
      "  pipefill submit --memory 512MiB --workdir . -- python3 job.py\n"
      "  pipefill submit --process --workdir . -- xz -9 big.tar\n"
      "A job file holds the same under the names of the options, which go over it:\n"
      "  {\"command\": [\"python3\", \"job.py\"], \"memory\": \"512MiB\", \"env\": {\"A\": "
      "\"1\"}}");
  commands.Add({.app = command,
                .body = [options](CommandContext& context) { return RunSubmit(*options, context); },
                .takes_tail = true});
}

}  // namespace pipefill
