#include "cli/sim/sim_command.h"

#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/paths.h"
#include "cli/sim/sim_output.h"
#include "cli/sim/sim_run.h"
#include "cli/sim/trace_shelf.h"
#include "common/config.h"
#include "common/files.h"
#include "common/status.h"

namespace pipefill {
namespace {

constexpr absl::Duration kProgressEvery = absl::Seconds(2);

struct SimOptions {
  std::string file;
  std::vector<std::string> sets;
  std::vector<std::string> sweeps;
  int32_t seed = 0;  // 0 = the scenario's
  std::string csv;
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

// What to type to see the same again.
std::string ReplayText(const SimOptions& options) {
  std::string text = absl::StrCat("again: pipefill sim ", ShellText({options.file}));
  if (options.seed > 0) absl::StrAppend(&text, " --seed ", options.seed);
  for (const std::string& set : options.sets) absl::StrAppend(&text, " --set ", ShellText({set}));
  for (const std::string& sweep : options.sweeps) {
    absl::StrAppend(&text, " --sweep ", ShellText({sweep}));
  }
  return text;
}

absl::StatusOr<ExitCode> RunSim(const SimOptions& options, CommandContext& context) {
  v1::Scenario scenario;
  RETURN_IF_ERROR(ReadJsonFile(PathOf(options.file, context), &scenario));
  if (options.seed > 0) scenario.set_seed(static_cast<uint64_t>(options.seed));
  ASSIGN_OR_RETURN(const std::vector<SimRun> runs,
                   ExpandRuns(scenario, options.sets, options.sweeps));
  // Of schedulerd, about every job.
  const spdlog::level::level_enum level = spdlog::get_level();
  spdlog::set_level(spdlog::level::warn);
  const std::filesystem::path scenario_path = PathOf(options.file, context);
  TraceShelf traces(scenario_path.parent_path().string());
  const SimFiles files = {
      .policy = [&](const std::string& file) { return ReadFile(PathOf(file, context)); },
      .trace = [&](const simulator::TraceSpec& spec) { return traces.Read(spec); }};
  const absl::StatusOr<std::vector<SimOutcome>> outcomes =
      RunAll(runs, files, context.clock, ProgressTo(context));
  spdlog::set_level(level);
  RETURN_IF_ERROR(outcomes.status());
  if (!options.csv.empty()) {
    RETURN_IF_ERROR(WriteFileAtomically(PathOf(options.csv, context), SimCsv(*outcomes)));
  }
  if (options.format == OutputFormat::kJson) {
    context.out << SimJson(scenario, *outcomes);
    return kExitOk;
  }
  context.out << scenario.name() << ": " << scenario.about() << "\n"
              << TraceText(*outcomes) << SimTable(*outcomes, context.width);
  context.err << ReplayText(options) << "\n";
  return kExitOk;
}

}  // namespace

void AddSimCommand(CLI::App& parent, CommandSet& commands) {
  auto options = std::make_shared<SimOptions>();
  CLI::App* command =
      parent.add_subcommand("sim", "What filling a whole cluster would come to, in virtual time");
  command->add_option("SCENARIO", options->file, "File, see simulator/scenarios/")
      ->required()
      ->type_name("");
  command->add_option("--set", options->sets, "Change a field: training.replicas=8")
      ->allow_extra_args(false)
      ->type_name("FIELD=VALUE");
  command->add_option("--sweep", options->sweeps, "One run for each value: policy=fifo,sjf")
      ->allow_extra_args(false)
      ->type_name("FIELD=A,B");
  AddNumberOption(*command, {"--seed", "Of all chance; default: the scenario's"}, &options->seed);
  command->add_option("--csv", options->csv, "Write the figures as a table")->type_name("FILE");
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
