#include "cli/submit.h"

#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/array_text.h"
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

absl::Status AddLabel(const std::string& text, v1::JobSpec& spec) {
  const size_t equals = text.find('=');
  if (equals == 0 || text.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--label: not a label: ", text, "; write KEY=VALUE, or KEY"));
  }
  (*spec.mutable_labels())[text.substr(0, equals)] =
      equals == std::string::npos ? "" : text.substr(equals + 1);
  return absl::OkStatus();
}

// The spec of an earlier job, without times that are over by now.
absl::StatusOr<v1::JobSpec> SpecOf(const std::string& job, SchedulerClient& client,
                                   const CommandContext& context) {
  ASSIGN_OR_RETURN(const JobId id, ParseJobId(job));
  ASSIGN_OR_RETURN(const v1::Job found, client.GetJob(id));
  v1::JobSpec spec = found.spec();
  const int64_t now_unix_ns = absl::ToUnixNanos(context.clock.WallNow());
  const bool is_late =
      spec.start_before_unix_ns() != 0 && spec.start_before_unix_ns() <= now_unix_ns;
  if (is_late) spec.clear_start_before_unix_ns();
  const bool is_overdue = spec.deadline_unix_ns() != 0 && spec.deadline_unix_ns() <= now_unix_ns;
  if (is_overdue) spec.clear_deadline_unix_ns();
  if (is_late || is_overdue) {
    context.err << "pipefill: note: job " << id.value() << " had "
                << (is_late && is_overdue ? "a deadline and a start_before that are"
                    : is_late             ? "a start_before that is"
                                          : "a deadline that is")
                << " over; the new job has none\n";
  }
  return spec;
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
  if (!options.max_runtime.empty()) {
    const absl::StatusOr<absl::Duration> longest = ParsePositiveDuration(options.max_runtime);
    if (!longest.ok()) return WithContext(longest.status(), "--max-runtime");
    spec.set_max_runtime_ns(absl::ToInt64Nanoseconds(*longest));
  }
  if (!options.start_before.empty()) {
    const absl::StatusOr<absl::Time> start = ParseDeadline(options.start_before, now);
    if (!start.ok()) return WithContext(start.status(), "--start-before");
    spec.set_start_before_unix_ns(absl::ToUnixNanos(*start));
  }
  if (options.is_held) spec.set_hold(true);
  if (options.is_kept) spec.set_not_evictable(true);
  if (options.may_be_infeasible) spec.set_allow_infeasible(true);
  return absl::OkStatus();
}

// Its array and what it depends on.
absl::Status SetTies(const SubmitOptions& options, v1::JobSpec& spec) {
  if (!options.array.empty()) {
    const absl::StatusOr<v1::ArraySpec> array = ParseArray(options.array);
    if (!array.ok()) return WithContext(array.status(), "--array");
    *spec.mutable_array() = *array;
  }
  const auto add = [&](const std::vector<std::string>& lists, v1::DependencyCondition condition,
                       absl::string_view option) {
    for (const std::string& jobs : lists) {
      RETURN_IF_ERROR(WithContext(AddDependencies(jobs, condition, &spec), option));
    }
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(add(options.after_ok, v1::DEPENDENCY_CONDITION_OK, "--after-ok"));
  RETURN_IF_ERROR(add(options.after_any, v1::DEPENDENCY_CONDITION_ANY, "--after-any"));
  return add(options.after_not_ok, v1::DEPENDENCY_CONDITION_NOT_OK, "--after-not-ok");
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

// `tasks`: of an array; 0 = it is none.
void PrintSubmitted(const v1::SubmitJobResponse& response, const SubmitOptions& options,
                    int64_t tasks, std::ostream& out) {
  switch (options.format) {
    case OutputFormat::kTable:
      out << "job " << response.job_id()
          << (response.already_existed() ? " was submitted before with this key" : " submitted")
          << (tasks == 0 ? "" : absl::StrCat(", ", Plural(tasks, "task"))) << std::endl;
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
  std::unique_ptr<SchedulerClient> client;
  if (options.again.empty()) {
    ASSIGN_OR_RETURN(*request.mutable_spec(), MakeJobSpec(options, context));
    ASSIGN_OR_RETURN(client, context.connect(context.scheduler));
  } else {
    ASSIGN_OR_RETURN(client, context.connect(context.scheduler));
    ASSIGN_OR_RETURN(v1::JobSpec spec, SpecOf(options.again, *client, context));
    ASSIGN_OR_RETURN(*request.mutable_spec(), ChangeJobSpec(std::move(spec), options, context));
  }
  request.set_key(options.key.empty() ? RandomToken() : options.key);
  const absl::StatusOr<v1::SubmitJobResponse> response = client->SubmitJob(request);
  if (!response.ok()) return WithKey(response.status(), request.key());
  PrintSubmitted(*response, options, CountTasks(request.spec().array()), context.out);
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

void AddTieOptions(CLI::App& command, SubmitOptions& options) {
  command.add_option("--array", options.array, "A task for each; %N: N at a time; as 0-99%10")
      ->type_name("INDEXES");
  const auto add = [&](const char* name, std::vector<std::string>* jobs, const char* meaning) {
    command.add_option(name, *jobs, meaning)->type_name("JOB,...")->allow_extra_args(false);
  };
  add("--after-ok", &options.after_ok, "Start once these have succeeded");
  add("--after-any", &options.after_any, "Start once these have ended");
  add("--after-not-ok", &options.after_not_ok, "Start once these have failed or were cancelled");
}

void AddOptions(CLI::App& command, SubmitOptions& options) {
  CLI::Option* file =
      command.add_option("FILE", options.file, "Job file (JSON); - reads standard input")
          ->type_name("");
  command.add_option("--again", options.again, "The same as that job, as a new one")
      ->type_name("JOB")
      ->excludes(file);
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
  command
      .add_option("--max-runtime", options.max_runtime, "It is stopped, and has failed, after that")
      ->type_name("TIME");
  command
      .add_option("--start-before", options.start_before,
                  "It has failed if it has not started then, as 2h")
      ->type_name("TIME");
  command.add_option("--label", options.labels, "For 'pipefill jobs -l'; may be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command.add_flag("--hold", options.is_held, "Wait until 'pipefill release'");
  command.add_flag("--no-evict", options.is_kept, "Never evict it for jobs of higher priority");
  command.add_flag("--allow-infeasible", options.may_be_infeasible,
                   "Wait even if no device is large enough");
  AddTieOptions(command, options);
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
  return ChangeJobSpec(std::move(spec), options, context);
}

absl::StatusOr<v1::JobSpec> ChangeJobSpec(v1::JobSpec spec, const SubmitOptions& options,
                                          const CommandContext& context) {
  if (!options.name.empty()) spec.set_name(options.name);
  if (!options.memory.empty()) {
    ASSIGN_OR_RETURN(const int64_t memory_bytes, ParseMemory(options.memory));
    spec.set_memory_bytes(memory_bytes);
  }
  for (const std::string& variable : options.env) RETURN_IF_ERROR(AddVariable(variable, spec));
  if (!options.workdir.empty()) {
    spec.set_workdir(AbsoluteFolder(options.workdir, context.working_folder));
  }
  for (const std::string& label : options.labels) RETURN_IF_ERROR(AddLabel(label, spec));
  if (options.retries >= 0) spec.set_retries(options.retries);
  if (!options.profile.empty()) {
    spec.clear_profile();
    RETURN_IF_ERROR(
        WithContext(ReadJsonFile(options.profile, spec.mutable_profile()), "--profile"));
  }
  if (options.samples > 0) spec.mutable_profile()->set_samples_total(options.samples);
  if (options.is_process) spec.set_way(v1::FILL_WAY_PROCESS);
  RETURN_IF_ERROR(SetPlanning(options, context.clock.WallNow(), spec));
  RETURN_IF_ERROR(SetTies(options, spec));
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
      "  pipefill submit --again 17 --memory 1GiB\n"
      "  pipefill submit --array 0-999%50 --workdir . -- python3 part.py\n"
      "A job file holds the same under the names of the options, which go over it:\n"
      "  {\"command\": [\"python3\", \"job.py\"], \"memory\": \"512MiB\", \"env\": {\"A\": "
      "\"1\"}}");
  commands.Add({.app = command,
                .body = [options](CommandContext& context) { return RunSubmit(*options, context); },
                .takes_tail = true});
}

}  // namespace pipefill
