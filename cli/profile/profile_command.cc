#include "cli/profile/profile_command.h"

#include <stdlib.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/profile/measured_units.h"
#include "cli/profile/profiled_process.h"
#include "common/files.h"
#include "common/quantity.h"
#include "common/status.h"

namespace pipefill {
namespace {

struct ProfileOptions {
  std::string file;
  std::vector<int> batch_sizes;
  std::string cores;
  int32_t samples = 0;
};

// Where the program's tasks leave their files; removed in the end.
class UnitFolder {
 public:
  static absl::StatusOr<std::unique_ptr<UnitFolder>> Make() {
    std::error_code failure;
    std::filesystem::path base = std::filesystem::temp_directory_path(failure);
    if (failure) base = "/tmp";
    std::string path = (base / "pipefill-profile.XXXXXX").string();
    if (mkdtemp(path.data()) == nullptr) {
      return ErrnoStatus(errno, absl::StrCat("make the folder ", path));
    }
    return std::unique_ptr<UnitFolder>(new UnitFolder(std::move(path)));
  }
  ~UnitFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  UnitFolder(const UnitFolder&) = delete;
  UnitFolder& operator=(const UnitFolder&) = delete;

  const std::string& path() const { return path_; }

  // The units of the task that did most of them: a program has one task, and may have helpers.
  absl::StatusOr<std::vector<MeasuredUnits>> Read() const {
    std::vector<MeasuredUnits> best;
    std::error_code failure;
    for (const auto& entry : std::filesystem::directory_iterator(path_, failure)) {
      if (absl::EndsWith(entry.path().string(), ".new")) continue;
      ASSIGN_OR_RETURN(const std::string text, ReadFile(entry.path().string()));
      absl::StatusOr<std::vector<MeasuredUnits>> units = ParseMeasuredUnits(text);
      if (!units.ok()) return WithContext(units.status(), "the task's own record");
      if (Count(*units) > Count(best)) best = *std::move(units);
    }
    return best;
  }

 private:
  explicit UnitFolder(std::string path) : path_(std::move(path)) {}

  static int64_t Count(const std::vector<MeasuredUnits>& all) {
    int64_t count = 0;
    for (const MeasuredUnits& units : all) count += units.count;
    return count;
  }

  const std::string path_;
};

struct Run {
  MeasuredRun measured;
  ProfiledEnd end;
};

std::map<std::string, std::string> EnvironmentFor(const std::string& folder, int batch_size,
                                                  size_t cores) {
  // Set to nothing is not set: the task is to run alone.
  std::map<std::string, std::string> variables = {{"PIPEFILL_PROFILE", folder},
                                                  {"PIPEFILL_SOCKET", ""},
                                                  {"PIPEFILL_JOB", ""},
                                                  {"PIPEFILL_CONFIG", ""}};
  if (batch_size > 0) {
    variables["PIPEFILL_CONFIG"] =
        absl::StrCat(R"({"name":"batch)", batch_size, R"(","batch_size":)", batch_size, "}");
  }
  if (cores > 0) {  // as agentd does on a device of so many
    for (const char* name : {"OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"}) {
      variables[name] = absl::StrCat(cores);
    }
  }
  return variables;
}

absl::StatusOr<Run> RunOnce(const ProfileOptions& options, int batch_size,
                            const CommandContext& context) {
  ASSIGN_OR_RETURN(const std::unique_ptr<UnitFolder> folder, UnitFolder::Make());
  ProfiledCommand command{.command = *context.tail, .environment = {}, .cores = {}};
  if (!options.cores.empty()) {
    absl::StatusOr<std::vector<int>> cores = ParseCores(options.cores);
    if (!cores.ok()) return WithContext(cores.status(), "--cores");
    command.cores = *std::move(cores);
  }
  command.environment = EnvironmentFor(folder->path(), batch_size, command.cores.size());
  Run run;
  ASSIGN_OR_RETURN(run.end, RunProfiled(command, context.clock));
  run.measured.batch_size = batch_size;
  run.measured.memory_peak_bytes = run.end.memory_peak_bytes;
  ASSIGN_OR_RETURN(run.measured.units, folder->Read());
  return run;
}

bool HasFailed(const ProfiledEnd& end) { return end.signal != 0 || end.exit_code != 0; }

std::string RunText(const Run& run) {
  std::string text = run.measured.batch_size > 0
                         ? absl::StrCat("batch size ", run.measured.batch_size, ": ")
                         : std::string();
  return absl::StrCat(text, pipefill::FormatDuration(run.end.wall), ", ",
                      pipefill::FormatDuration(run.end.cpu), " of CPU, ",
                      FormatBytes(run.end.memory_peak_bytes), " at most\n");
}

void ReportFailure(const ProfiledEnd& end, std::ostream& err) {
  err << "pipefill: the program ended "
      << (end.signal != 0 ? absl::StrCat("by signal ", end.signal)
                          : absl::StrCat("with exit code ", end.exit_code))
      << "; what it did until then was measured\n";
}

absl::Status CheckOptions(const ProfileOptions& options, const CommandContext& context) {
  if (!context.tail.has_value() || context.tail->empty()) {
    return absl::InvalidArgumentError(
        "no program to measure; put it behind --, as: pipefill profile -- python3 job.py");
  }
  for (const int batch_size : options.batch_sizes) {
    if (batch_size < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("--batch-size: ", batch_size, " is not a positive number"));
    }
  }
  return absl::OkStatus();
}

absl::Status WriteProfile(const ProfileOptions& options, const v1::FillProfile& profile,
                          std::ostream& err) {
  if (profile.configurations().empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the program asked for no unit, so there is no profile",
                     options.file.empty() ? "" : absl::StrCat(" to write to ", options.file),
                     "; see docs/how-to/profile.md"));
  }
  if (options.file.empty()) return absl::OkStatus();
  RETURN_IF_ERROR(WithContext(WriteFileAtomically(options.file, ProfileJsonText(profile)), "-o"));
  err << "pipefill: wrote " << options.file << "; use it with: pipefill submit --profile "
      << options.file << " -- ...\n";
  return absl::OkStatus();
}

absl::StatusOr<ExitCode> RunProfile(const ProfileOptions& options, CommandContext& context) {
  RETURN_IF_ERROR(CheckOptions(options, context));
  std::vector<int> batch_sizes = options.batch_sizes;
  if (batch_sizes.empty()) batch_sizes.push_back(0);
  std::vector<MeasuredRun> runs;
  v1::FillProfile profile;
  profile.set_samples_total(options.samples);
  std::string facts;
  ExitCode code = kExitOk;
  for (const int batch_size : batch_sizes) {
    ASSIGN_OR_RETURN(Run run, RunOnce(options, batch_size, context));
    absl::StrAppend(&facts, RunText(run));
    for (const v1::FillConfiguration& configuration : ConfigurationsOf(run.measured)) {
      *profile.add_configurations() = configuration;
    }
    runs.push_back(std::move(run.measured));
    if (!HasFailed(run.end)) continue;
    ReportFailure(run.end, context.err);
    code = kExitJobFailed;
    break;
  }
  context.out << facts;
  if (!profile.configurations().empty()) context.out << "\n" << UnitTable(runs);
  RETURN_IF_ERROR(WriteProfile(options, profile, context.err));
  return code;
}

}  // namespace

void AddProfileCommand(CLI::App& parent, CommandSet& commands) {
  auto options = std::make_shared<ProfileOptions>();
  CLI::App* command = parent.add_subcommand("profile", "Measure a fill job that runs here alone");
  command->add_option("-o,--output", options->file, "Write the profile there")->type_name("FILE");
  command
      ->add_option("--batch-size", options->batch_sizes,
                   "For the program; one run for each that is given")
      ->type_name("N")
      ->allow_extra_args(false);
  command->add_option("--cores", options->cores, "Run on these alone, as '0' or '0-3'")
      ->type_name("LIST");
  AddNumberOption(*command, {"--samples", "Samples of the whole job, for forecasts of its end"},
                  &options->samples);
  command->footer(
      "Runs the program behind -- to its end, or until ^C, and prints how long its\n"
      "units take and how much memory it needs:\n"
      "  pipefill profile -o embed.profile.json --cores 0 -- python3 embed.py\n"
      "  pipefill submit --profile embed.profile.json -- python3 embed.py");
  commands.Add(
      {.app = command,
       .body = [options](CommandContext& context) { return RunProfile(*options, context); },
       .takes_tail = true});
}

}  // namespace pipefill
