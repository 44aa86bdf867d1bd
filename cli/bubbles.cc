#include "cli/bubbles.h"

#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "cli/json.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/words.h"
#include "common/quantity.h"
#include "common/status.h"

namespace pipefill {
namespace {

struct BubblesOptions {
  std::string main_job;
  OutputFormat format = OutputFormat::kTable;
};

std::string FormatNs(int64_t ns) { return pipefill::FormatDuration(absl::Nanoseconds(ns)); }

Table NewTable() {
  return Table({{"RANK", Align::kRight},
                {"BUBBLE"},
                {"COUNT", Align::kRight},
                {"P50", Align::kRight},
                {"P90", Align::kRight},
                {"MEMORY", Align::kRight},
                {"OFFERED", Align::kRight},
                {"FILLED", Align::kRight},
                {"OVERRUN", Align::kRight}});
}

void AddBubble(const v1::BubbleStats& bubble, Table& table) {
  table.AddRow({absl::StrCat(bubble.rank()),
                absl::StrCat(Word(bubble.bubble_class()), " ", bubble.ordinal()),
                FormatCount(bubble.count()), FormatNs(bubble.p50_ns()), FormatNs(bubble.p90_ns()),
                FormatBytes(bubble.memory_free_bytes()),
                FormatShare(bubble.offered_ns(), bubble.bubble_ns()),
                FormatShare(bubble.filled_ns(), bubble.bubble_ns()),
                FormatShare(bubble.overrun_ns(), bubble.bubble_ns())});
}

std::string BubblesText(const v1::ListBubblesResponse& response) {
  std::map<std::string, Table> tables;
  for (const v1::BubbleStats& bubble : response.bubbles()) {
    AddBubble(bubble, tables.try_emplace(bubble.main_job(), NewTable()).first->second);
  }
  std::string text;
  for (const auto& [main_job, table] : tables) {
    absl::StrAppend(&text, text.empty() ? "" : "\n", "main job ", OneLine(main_job), "\n",
                    table.Text());
  }
  return text;
}

absl::StatusOr<ExitCode> RunBubbles(const BubblesOptions& options, CommandContext& context) {
  ASSIGN_OR_RETURN(const auto client, context.connect(context.scheduler));
  ASSIGN_OR_RETURN(const v1::ListBubblesResponse response, client->ListBubbles(options.main_job));
  if (options.format == OutputFormat::kJson) {
    Json json;
    json["bubbles"] = Json::array();
    for (const v1::BubbleStats& bubble : response.bubbles()) {
      json["bubbles"].push_back(BubbleJson(bubble));
    }
    context.out << JsonText(json);
  } else if (!response.bubbles().empty()) {
    context.out << BubblesText(response);
  } else if (options.main_job.empty()) {
    context.err << "pipefill: no bubbles yet; they show up once a training run has attached and "
                   "run an iteration ('pipefill devices' shows what is attached)\n";
  } else {
    context.err << "pipefill: no bubbles of that main job: main_job=" << OneLine(options.main_job)
                << "; 'pipefill devices' shows which main jobs are attached\n";
  }
  return kExitOk;
}

}  // namespace

void AddBubblesCommand(CLI::App& parent, CommandSet& commands) {
  auto options = std::make_shared<BubblesOptions>();
  CLI::App* command = parent.add_subcommand("bubbles", "What is idle, and how much is filled");
  command->add_option("--main", options->main_job, "Only bubbles of this main job")
      ->type_name("NAME");
  AddOutputOption(*command, /*with_name=*/false, &options->format);
  command->footer(
      "P50, P90: of the last 64 lengths. MEMORY: free inside the bubble.\n"
      "Shares are of all time in that bubble since the rank attached:\n"
      "OFFERED: in which units could start; FILLED: in which units computed;\n"
      "OVERRUN: what they computed after its end.");
  commands.Add(
      {command, [options](CommandContext& context) { return RunBubbles(*options, context); }});
}

}  // namespace pipefill
