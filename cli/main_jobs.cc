#include "cli/main_jobs.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/control_text.h"
#include "cli/json.h"
#include "cli/main_job_summary.h"
#include "cli/main_settings.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/share.h"
#include "cli/words.h"
#include "common/status.h"

namespace pipefill {
namespace {

// A main job with the devices that its ranks are on.
struct MainJob {
  v1::MainJobSettings settings;
  std::vector<const v1::Device*> devices;
  std::optional<v1::FillControl> control;  // of the rank that is worst off
};

std::vector<MainJob> GroupByMainJob(const v1::ListMainJobsResponse& main_jobs,
                                    const v1::ListDevicesResponse& devices) {
  const std::map<std::string, MainJobSummary> summaries = SummariseMainJobs(devices);
  std::vector<MainJob> groups;
  for (const v1::MainJobSettings& settings : main_jobs.main_jobs()) {
    MainJob& group = groups.emplace_back();
    group.settings = settings;
    const auto summary = summaries.find(settings.main_job());
    if (summary != summaries.end()) group.control = summary->second.control;
    for (const v1::Device& device : devices.devices()) {
      const bool is_its =
          device.has_main_rank() && device.main_rank().main_job() == settings.main_job();
      if (is_its) group.devices.push_back(&device);
    }
  }
  return groups;
}

void AddNew(std::vector<std::string>& words, const std::string& word) {
  if (word.empty() || std::find(words.begin(), words.end(), word) != words.end()) return;
  words.push_back(word);
}

// Ranks are told the same, but may have been asked to differ.
std::string ModeText(const MainJob& main_job) {
  if (main_job.settings.mode() != v1::FILL_MODE_UNSPECIFIED) return Word(main_job.settings.mode());
  std::vector<std::string> modes;
  for (const v1::Device* device : main_job.devices) AddNew(modes, Word(device->main_rank().mode()));
  return absl::StrJoin(modes, ", ");
}

// The states that its ranks are in, each with the number of ranks.
std::map<std::string, int> StatesOf(const MainJob& main_job) {
  std::map<std::string, int> states;
  for (const v1::Device* device : main_job.devices) {
    const v1::FillControl& control = device->main_rank().control();
    if (control.state() != v1::FILL_STATE_UNSPECIFIED) ++states[Word(control.state())];
  }
  return states;
}

// What an agent says, or what follows from the settings while none says anything.
std::string StateText(const MainJob& main_job) {
  const std::map<std::string, int> states = StatesOf(main_job);
  if (states.empty()) return main_job.settings.paused() ? "paused" : "";
  return states.size() == 1 ? states.begin()->first : "mixed";
}

std::string RanksText(const MainJob& main_job) {
  if (main_job.devices.empty()) return "none";
  return absl::StrCat(main_job.devices.size(), "/", main_job.devices[0]->main_rank().ranks());
}

std::string BudgetText(const MainJob& main_job) {
  if (main_job.settings.budget_ppm() != 0) return FormatPpm(main_job.settings.budget_ppm());
  const bool is_told = main_job.control.has_value() && main_job.control->budget_ppm() != 0;
  return is_told ? FormatPpm(main_job.control->budget_ppm()) : "";
}

std::string CostText(const MainJob& main_job) {
  if (!main_job.control.has_value() || !HasEstimate(*main_job.control)) return "";
  const std::string interval = IntervalText(*main_job.control);
  return absl::StrCat(SlowdownText(*main_job.control),
                      interval.empty() ? "" : absl::StrCat(" (", interval, ")"));
}

std::string LambdaText(const MainJob& main_job) {
  if (!main_job.control.has_value() || main_job.control->overrun_ratio() == 0) return "";
  return absl::StrFormat("%.2f", main_job.control->overrun_ratio());
}

std::string TableText(const std::vector<MainJob>& main_jobs) {
  Table table({{"MAIN JOB", Align::kLeft, /*can_shrink=*/true},
               {"RANKS", Align::kRight},
               {"MODE"},
               {"STATE"},
               {"BUDGET", Align::kRight},
               {"SLOWDOWN"},
               {"LAMBDA", Align::kRight}});
  for (const MainJob& main_job : main_jobs) {
    table.AddRow({main_job.settings.main_job(), RanksText(main_job), ModeText(main_job),
                  StateText(main_job), BudgetText(main_job), CostText(main_job),
                  LambdaText(main_job)});
  }
  return table.Text();
}

// Why each is in its state: lines behind the table, for they are long.
std::string ReasonsText(const std::vector<MainJob>& main_jobs) {
  std::string text;
  for (const MainJob& main_job : main_jobs) {
    std::vector<std::string> reasons;
    for (const v1::Device* device : main_job.devices) {
      AddNew(reasons, device->main_rank().control().text());
    }
    const std::map<std::string, int> states = StatesOf(main_job);
    if (states.size() > 1) {
      const auto count = [](std::string* out, const auto& state) {
        absl::StrAppend(out, state.second, " of its ranks ", state.first);
      };
      AddNew(reasons, absl::StrJoin(states, ", ", count));
    }
    const uint32_t share_ppm = main_job.settings.static_share_ppm();
    if (share_ppm != 0) {
      AddNew(reasons, absl::StrCat("units end within ", FormatPpm(share_ppm),
                                   " of each bubble (rule static)"));
    }
    for (const std::string& reason : reasons) {
      absl::StrAppend(&text, OneLine(main_job.settings.main_job()), ": ", OneLine(reason), "\n");
    }
  }
  return text.empty() ? text : "\n" + text;
}

Json MainJobJson(const MainJob& main_job) {
  Json json = MainSettingsJson(main_job.settings);
  json["ranks"] = Json::array();
  for (const v1::Device* device : main_job.devices) {
    Json rank = {{"node", device->node()}, {"device", device->name()}};
    rank.update(MainRankJson(device->main_rank()));
    json["ranks"].push_back(std::move(rank));
  }
  return json;
}

absl::StatusOr<ExitCode> RunMain(OutputFormat format, CommandContext& context) {
  ASSIGN_OR_RETURN(const auto client, context.connect(context.scheduler));
  ASSIGN_OR_RETURN(const v1::ListMainJobsResponse listed, client->ListMainJobs());
  ASSIGN_OR_RETURN(const v1::ListDevicesResponse devices, client->ListDevices());
  const std::vector<MainJob> main_jobs = GroupByMainJob(listed, devices);
  if (format == OutputFormat::kJson) {
    Json json;
    json["main_jobs"] = Json::array();
    for (const MainJob& main_job : main_jobs) json["main_jobs"].push_back(MainJobJson(main_job));
    context.out << JsonText(json);
  } else if (main_jobs.empty()) {
    context.err << "pipefill: no main job is attached; two lines in a training loop do it: see "
                   "README.md, 'Attach a training loop'\n";
  } else {
    context.out << TableText(main_jobs) << ReasonsText(main_jobs);
  }
  return kExitOk;
}

}  // namespace

void AddMainGroup(CLI::App& parent, CommandSet& commands) {
  auto format = std::make_shared<OutputFormat>(OutputFormat::kTable);
  CLI::App* command =
      parent.add_subcommand("main", "List main jobs, or change how they are filled");
  command->require_subcommand(0, 1);
  AddOutputOption(*command, /*with_name=*/false, format.get());
  commands.Add({command, [format](CommandContext& context) { return RunMain(*format, context); }});
  AddMainSettings(*command, commands);
  // After the verbs, which would inherit it.
  command->footer(
      "RANKS: attached, of how many. BUDGET: slowdown that filling may cost.\n"
      "SLOWDOWN: estimate with its 95 % interval, of the rank that is worst off.\n"
      "LAMBDA: expected overrun per unit time that the latest starts allow now.");
}

}  // namespace pipefill
