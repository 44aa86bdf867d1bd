#include "cli/report/report_command.h"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "cli/paths.h"
#include "cli/report/bubble_csv.h"
#include "cli/report/figures.h"
#include "cli/report/html.h"
#include "cli/report/perfetto.h"
#include "cli/report/report_json.h"
#include "cli/report/report_text.h"
#include "cli/report/report_words.h"
#include "cli/report/timeline.h"
#include "cli/report/timeline_svg.h"
#include "cli/report/trace_checker.h"
#include "cli/report/trace_reader.h"
#include "cli/report/trace_source.h"
#include "common/files.h"
#include "common/status.h"

namespace pipefill {
namespace {

// What is read from the world before anything is computed.
struct ReportInput {
  std::vector<TraceBytes> traces;
  std::optional<std::vector<JobRecord>> jobs;
};

absl::StatusOr<ReportInput> ReadInput(const ReportOptions& options, CommandContext& context) {
  ReportInput input;
  for (const std::string& path : options.traces) {
    ASSIGN_OR_RETURN(TraceBytes trace, ReadTraceFile(PathOf(path, context)));
    input.traces.push_back(std::move(trace));
  }
  if (!input.traces.empty()) return input;
  ASSIGN_OR_RETURN(const auto client, context.connect(context.scheduler));
  ASSIGN_OR_RETURN(FetchedTraces fetched, FetchTraces(*client));
  for (const std::string& line : fetched.missing) context.err << "pipefill: " << line << "\n";
  input.traces = std::move(fetched.traces);
  ASSIGN_OR_RETURN(input.jobs, FetchJobs(*client));
  return input;
}

absl::StatusOr<FiguresOptions> OptionsOf(const ReportOptions& options,
                                         const CommandContext& context) {
  FiguresOptions figures;
  figures.main_job = options.main_job;
  figures.skip_first = options.skip_first;
  for (const std::string& pair : options.alone) {
    const size_t equals = pair.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == pair.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("not NAME=FILE: --alone ", pair, "; NAME is the name of a fill job"));
    }
    ASSIGN_OR_RETURN(const AloneRun alone, ReadAloneFile(PathOf(pair.substr(equals + 1), context)));
    figures.alone[pair.substr(0, equals)] = alone;
  }
  return figures;
}

// In pieces: the text of a long trace need not fit into memory.
absl::Status WritePerfettoFile(const std::string& path, const Trace& trace) {
  const std::string unfinished = path + ".part";
  std::ofstream file(unfinished, std::ios::binary | std::ios::trunc);
  WritePerfetto(trace, [&file](absl::string_view piece) {
    file.write(piece.data(), static_cast<std::streamsize>(piece.size()));
  });
  file.close();
  std::error_code error;
  if (!file.fail()) std::filesystem::rename(unfinished, path, error);
  if (!file.fail() && !error) return absl::OkStatus();
  std::filesystem::remove(unfinished, error);
  return absl::UnavailableError(
      absl::StrCat("cannot write: ", path, "; check that its folder exists and has room"));
}

// Page, picture, rows and the trace for other viewers, as far as they are wanted.
absl::Status WriteFiles(const ReportOptions& options, const CommandContext& context,
                        const Trace& trace, const Figures& figures, const CheckResult& check) {
  if (!options.html.empty()) {
    RETURN_IF_ERROR(
        WriteFileAtomically(PathOf(options.html, context), ReportPage(trace, figures, check)));
  }
  if (!options.csv.empty()) {
    RETURN_IF_ERROR(WriteFileAtomically(PathOf(options.csv, context), BubbleCsv(trace)));
  }
  if (!options.perfetto.empty()) {
    RETURN_IF_ERROR(WritePerfettoFile(PathOf(options.perfetto, context), trace));
  }
  if (options.svg.empty()) return absl::OkStatus();
  const Timeline piece = MakeTimeline(trace, figures, RepresentativeRows(RunToDraw(figures), 3, 2));
  return WriteFileAtomically(PathOf(options.svg, context),
                             TimelineSvg(piece, {.title = RunText(figures)}));
}

}  // namespace

absl::StatusOr<ExitCode> RunReport(const ReportOptions& options, CommandContext& context) {
  ASSIGN_OR_RETURN(const FiguresOptions figures_options, OptionsOf(options, context));
  ASSIGN_OR_RETURN(ReportInput input, ReadInput(options, context));
  const Trace trace = ReadTraces(input.traces);
  ASSIGN_OR_RETURN(const Figures figures, ComputeFigures(trace, figures_options));
  const CheckResult check =
      CheckTrace(trace, {.jobs = std::move(input.jobs), .all_jobs_ended = options.must_have_ended});
  RETURN_IF_ERROR(WriteFiles(options, context, trace, figures, check));
  if (options.format == OutputFormat::kJson) {
    context.out << ReportJson(trace, figures, check);
  } else {
    context.out << ReportText(trace, figures, check);
  }
  return options.must_check && check.violation_count() > 0 ? kExitFailure : kExitOk;
}

void AddReportCommand(CLI::App& parent, CommandSet& commands) {
  auto options = std::make_shared<ReportOptions>();
  CLI::App* command =
      parent.add_subcommand("report", "What was idle, what was filled, and what it cost");
  command->add_option("--main", options->main_job, "Main job; default: the one filled most")
      ->type_name("NAME");
  command
      ->add_option("--alone", options->alone, "Job NAME's own figures of a run alone; repeatable")
      ->allow_extra_args(false)
      ->type_name("NAME=FILE");
  command->add_option("--html", options->html, "Write the report as one page with a timeline")
      ->type_name("FILE");
  command->add_option("--svg", options->svg, "Write a piece of the timeline as a picture")
      ->type_name("FILE");
  command->add_option("--csv", options->csv, "Write every bubble as a row of a table")
      ->type_name("FILE");
  command->add_option("--perfetto", options->perfetto, "Write all of it for ui.perfetto.dev")
      ->type_name("FILE");
  command->add_option("--trace", options->traces, "Read this trace, not the agents'; repeatable")
      ->allow_extra_args(false)
      ->type_name("FILE");
  AddNumberOption(*command, {"--skip-first", "Iterations to leave out; default: 20", 0},
                  &options->skip_first);
  command->add_flag("--check", options->must_check, "Exit code 1 if a rule was broken");
  command->add_flag("--ended", options->must_have_ended, "A job that has not ended breaks a rule");
  AddOutputOption(*command, /*with_name=*/false, &options->format);
  command->footer(
      "Shares are of the time of that bubble in filled iterations while a task was\n"
      "there. OFFERED: in which units could start; FILLED, OVERRUN: CPU time of units\n"
      "inside and after the bubble.\n"
      "AS IF ALONE: its units at the CPU time that they take without a main job.");
  commands.Add(
      {command, [options](CommandContext& context) { return RunReport(*options, context); }});
}

}  // namespace pipefill
