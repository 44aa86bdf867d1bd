// `pipefill report`: what was idle, what was filled, what it cost the main job; as a table, as
// JSON, as a page, as a picture; and whether every rule was kept.
//
// Thread-compatible: runs on the thread of its command.
#ifndef CLI_REPORT_REPORT_COMMAND_H_
#define CLI_REPORT_REPORT_COMMAND_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/command.h"
#include "cli/options.h"
#include "common/exit_code.h"

namespace pipefill {

// Relative paths start from CommandContext::working_folder.
struct ReportOptions {
  std::string main_job;             // empty: the one with the most units
  std::vector<std::string> alone;   // "NAME=FILE"
  std::vector<std::string> traces;  // files or folders; empty: the traces of all connected agents
  std::string html;                 // where to write the page; empty: nowhere
  std::string svg;                  // likewise the picture
  std::string csv;                  // likewise every bubble as a row
  std::string perfetto;             // likewise the trace for ui.perfetto.dev
  int skip_first = 20;              // iterations left out at the begin of a run
  bool must_check = false;          // violations make it fail
  bool must_have_ended = false;     // a job that has not ended is a violation
  OutputFormat format = OutputFormat::kTable;
};

// Prints the report to context.out. kExitFailure if must_check and a rule is broken. Errors: what
// schedulerd, the files or the trace do not have, and InvalidArgument for a bad "NAME=FILE".
absl::StatusOr<ExitCode> RunReport(const ReportOptions& options, CommandContext& context);

void AddReportCommand(CLI::App& parent, CommandSet& commands);

}  // namespace pipefill

#endif  // CLI_REPORT_REPORT_COMMAND_H_
