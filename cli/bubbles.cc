#include "cli/bubbles.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/json.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/words.h"
#include "common/quantity.h"
#include "common/status.h"

namespace pipefill {
namespace {

// Bubbles with less than this share of the bubble time of their main job are left out by default.
constexpr double kShareMin = 0.005;

struct BubblesOptions {
  std::string main_job;
  bool wants_all = false;
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
                bubble.memory_free_bytes() > 0 ? FormatBytes(bubble.memory_free_bytes()) : "",
                FormatShare(bubble.offered_ns(), bubble.bubble_ns()),
                FormatShare(bubble.filled_ns(), bubble.bubble_ns()),
                FormatShare(bubble.overrun_ns(), bubble.bubble_ns())});
}

// In the order of an iteration: all ordinals of a rank count up together.
bool ComesBefore(const v1::BubbleStats& a, const v1::BubbleStats& b) {
  return std::make_tuple(a.rank(), a.ordinal(), a.bubble_class()) <
         std::make_tuple(b.rank(), b.ordinal(), b.bubble_class());
}

// The bubbles of one main job.
struct BubbleGroup {
  std::vector<v1::BubbleStats> bubbles;
  int64_t bubble_ns = 0;
};

std::map<std::string, BubbleGroup> GroupByMainJob(const v1::ListBubblesResponse& response) {
  std::map<std::string, BubbleGroup> groups;
  for (const v1::BubbleStats& bubble : response.bubbles()) {
    BubbleGroup& group = groups[bubble.main_job()];
    group.bubbles.push_back(bubble);
    group.bubble_ns += bubble.bubble_ns();
  }
  for (auto& [main_job, group] : groups) {
    std::sort(group.bubbles.begin(), group.bubbles.end(), ComesBefore);
  }
  return groups;
}

void PrintBubbles(const v1::ListBubblesResponse& response, bool wants_all,
                  CommandContext& context) {
  int64_t hidden = 0;
  const char* separator = "";
  for (const auto& [main_job, group] : GroupByMainJob(response)) {
    Table table = NewTable();
    for (const v1::BubbleStats& bubble : group.bubbles) {
      const double share_ns = kShareMin * static_cast<double>(group.bubble_ns);
      if (wants_all || static_cast<double>(bubble.bubble_ns()) >= share_ns) {
        AddBubble(bubble, table);
      } else {
        ++hidden;
      }
    }
    context.out << separator << "main job " << OneLine(main_job) << "\n" << table.Text();
    separator = "\n";
  }
  if (hidden > 0) {
    context.err << "pipefill: " << Plural(hidden, "bubble") << " with under "
                << FormatShare(5, 1000) << " of the bubble time not shown; '--all' lists them\n";
  }
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
    PrintBubbles(response, options.wants_all, context);
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
  command->add_flag("--all", options->wants_all, "Also those with hardly any time");
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
