#include "cli/sim/sim_command.h"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/paths.h"
#include "cli/sim/sim_output.h"
#include "cli/sim/sim_page.h"
#include "cli/sim/sim_picture.h"
#include "cli/sim/sim_run.h"
#include "cli/sim/trace_shelf.h"
#include "common/config.h"
#include "common/files.h"
#include "common/status.h"

namespace pipefill {
namespace {

// Also where nobody looks: few enough for a log.
constexpr absl::Duration kProgressEvery = absl::Seconds(10);

struct SimOptions {
  SimCommandLine line;
  std::string csv;
  std::string html;
  std::string svg_folder;
  OutputFormat format = OutputFormat::kTable;
};

// Quiet for runs that are over at once.
SimProgress ProgressTo(CommandContext& context) {
  return [&context, last = context.clock.Now()](size_t run, size_t runs, int64_t hours,
                                                int64_t of_hours) mutable {
    if (context.clock.Now() - last < kProgressEvery) return;
    last = context.clock.Now();
    context.err << "run " << run << " of " << runs << ": " << FormatCount(hours) << " of "
                << FormatCount(of_hours) << " simulated hours\n";
  };
}

// In a folder that is there, each under its name; a name that comes again has a number behind it.
absl::Status WritePictures(const std::string& folder, const std::vector<SimPicture>& pictures) {
  std::map<std::string, int> times;
  for (const SimPicture& picture : pictures) {
    const int time = ++times[picture.name];
    const std::string name = time == 1 ? picture.name : absl::StrCat(picture.name, "-", time);
    RETURN_IF_ERROR(WriteFileAtomically(absl::StrCat(folder, "/", name, ".svg"), picture.svg));
  }
  return absl::OkStatus();
}

// Before the runs, which may take minutes: whether files can be written where they are wanted.
absl::Status CheckOutputs(const SimOptions& options, const CommandContext& context) {
  for (const std::string& file : {options.csv, options.html}) {
    if (file.empty()) continue;
    const std::filesystem::path folder = std::filesystem::path(PathOf(file, context)).parent_path();
    if (access((folder / ".").c_str(), W_OK | X_OK) == 0) continue;
    const absl::Status status = ErrnoStatus(errno, absl::StrCat("folder ", folder.string()));
    return absl::Status(status.code(),
                        absl::StrCat(status.message(), "; name a file where one can be written"));
  }
  if (options.svg_folder.empty()) return absl::OkStatus();
  return MakeWritableFolder(PathOf(options.svg_folder, context));
}

struct SimDone {
  const v1::Scenario& scenario;  // as the first run had it
  const std::vector<SimSweep>& sweeps;
  const std::vector<SimOutcome>& outcomes;
};

absl::Status WriteFiles(const SimOptions& options, const CommandContext& context,
                        const SimDone& done) {
  if (!options.csv.empty()) {
    RETURN_IF_ERROR(WriteFileAtomically(PathOf(options.csv, context), SimCsv(done.outcomes)));
  }
  if (options.html.empty() && options.svg_folder.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::vector<SimPicture> pictures, SimPictures(done.sweeps, done.outcomes));
  if (!options.svg_folder.empty()) {
    RETURN_IF_ERROR(WritePictures(PathOf(options.svg_folder, context), pictures));
  }
  if (options.html.empty()) return absl::OkStatus();
  return WriteFileAtomically(PathOf(options.html, context),
                             SimPage({.scenario = done.scenario,
                                      .outcomes = done.outcomes,
                                      .pictures = pictures,
                                      .replay = ReplayText(options.line)}));
}

absl::StatusOr<std::vector<SimOutcome>> SimulateAll(const SimOptions& options,
                                                    const std::vector<SimRun>& runs,
                                                    CommandContext& context) {
  // Of schedulerd, about every job.
  const spdlog::level::level_enum level = spdlog::get_level();
  spdlog::set_level(spdlog::level::warn);
  const std::filesystem::path scenario_path = PathOf(options.line.file, context);
  TraceShelf traces(scenario_path.parent_path().string());
  const SimFiles files = {
      .policy = [&](const std::string& file) { return ReadFile(PathOf(file, context)); },
      .trace = [&](const simulator::TraceSpec& spec) { return traces.Read(spec); }};
  absl::StatusOr<std::vector<SimOutcome>> outcomes =
      RunAll(runs, files, context.clock, ProgressTo(context));
  spdlog::set_level(level);
  return outcomes;
}

void PrintFigures(const SimOptions& options, const v1::Scenario& scenario,
                  const std::vector<SimOutcome>& outcomes, CommandContext& context) {
  if (options.format == OutputFormat::kJson) {
    context.out << SimJson(scenario, outcomes);
    return;
  }
  context.out << scenario.name() << ": " << scenario.about() << "\n";
  for (const std::string& line : TraceLines(outcomes)) context.out << line << "\n";
  context.out << SimTable(outcomes, context.width);
  context.err << "again: " << ReplayText(options.line) << "\n";
}

absl::StatusOr<ExitCode> RunSim(const SimOptions& options, CommandContext& context) {
  v1::Scenario scenario;
  RETURN_IF_ERROR(ReadJsonFile(PathOf(options.line.file, context), &scenario));
  if (options.line.seed > 0) scenario.set_seed(static_cast<uint64_t>(options.line.seed));
  ASSIGN_OR_RETURN(const std::vector<SimSweep> sweeps, ParseSweeps(options.line.sweeps));
  ASSIGN_OR_RETURN(const std::vector<SimRun> runs, ExpandRuns(scenario, options.line.sets, sweeps));
  RETURN_IF_ERROR(CheckOutputs(options, context));
  ASSIGN_OR_RETURN(const std::vector<SimOutcome> outcomes, SimulateAll(options, runs, context));
  // What took long to find is not lost with a file that cannot be written.
  PrintFigures(options, scenario, outcomes, context);
  RETURN_IF_ERROR(WriteFiles(options, context, {runs.front().scenario, sweeps, outcomes}));
  return kExitOk;
}

}  // namespace

void AddSimCommand(CLI::App& parent, CommandSet& commands) {
  auto options = std::make_shared<SimOptions>();
  CLI::App* command =
      parent.add_subcommand("sim", "What filling a whole cluster would come to, in virtual time");
  command->add_option("SCENARIO", options->line.file, "File, see simulator/scenarios/")
      ->required()
      ->type_name("");
  command->add_option("--set", options->line.sets, "Change a field: training.replicas=8")
      ->allow_extra_args(false)
      ->type_name("FIELD=VALUE");
  command->add_option("--sweep", options->line.sweeps, "One run for each value: policy=fifo,sjf")
      ->allow_extra_args(false)
      ->type_name("FIELD=A,B");
  AddNumberOption(*command, {"--seed", "Of all chance; default: the scenario's"},
                  &options->line.seed);
  command->add_option("--csv", options->csv, "Write the figures as a table")->type_name("FILE");
  command->add_option("--html", options->html, "Write the runs as a page with plots")
      ->type_name("FILE");
  command->add_option("--svg", options->svg_folder, "Write each plot as a picture into a folder")
      ->type_name("FOLDER");
  AddOutputOption(*command, /*with_name=*/false, &options->format);
  command->footer(
      "IDLE: share of the devices' time in bubbles. FILLED: share of that in which\n"
      "units ran. GAIN: work done against the main job's. WORTH: devices of their own\n"
      "that would do it. SLOWER: at most, by overruns. MEAN, P95: submission to end.\n"
      "Jobs may be those of a trace of a real cluster (workload.trace): a line tells\n"
      "what became of its rows; formats and columns: docs/simulator.md.\n"
      "The same scenario and seed give the same figures:\n"
      "  pipefill sim simulator/scenarios/policies.json --sweep policy=fifo,sjf");
  commands.Add({command, [options](CommandContext& context) { return RunSim(*options, context); }});
}

}  // namespace pipefill
