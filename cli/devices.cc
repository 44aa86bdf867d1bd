#include "cli/devices.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/json.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/words.h"
#include "common/quantity.h"
#include "common/status.h"

namespace pipefill {
namespace {

std::string MainJobText(const v1::MainRank& rank) {
  std::string text = absl::StrCat(rank.main_job(), " ", rank.rank(), "/", rank.ranks());
  if (rank.mode() != v1::FILL_MODE_FILL) absl::StrAppend(&text, " ", Word(rank.mode()));
  return text;
}

std::string IterationText(const v1::MainRank& rank) {
  if (rank.iteration_p50_ns() == 0) return "";
  return pipefill::FormatDuration(absl::Nanoseconds(rank.iteration_p50_ns()));
}

std::string DevicesText(const v1::ListDevicesResponse& response) {
  Table table({{"DEVICE", Align::kLeft, /*can_shrink=*/true},
               {"DETAIL", Align::kLeft, /*can_shrink=*/true},
               {"MEMORY", Align::kRight},
               {"FREE", Align::kRight},
               {"TASKS", Align::kRight},
               {"MAIN JOB", Align::kLeft, /*can_shrink=*/true},
               {"ITERATION", Align::kRight},
               {"BUBBLES", Align::kRight}});
  for (const v1::Device& device : response.devices()) {
    const v1::MainRank& rank = device.main_rank();
    const bool has_rank = device.has_main_rank();
    table.AddRow({DeviceName(device.node(), device.name()), device.detail(),
                  FormatBytes(device.memory_bytes()), FormatBytes(device.memory_free_bytes()),
                  absl::StrCat(device.resident(), "/", device.resident_limit()),
                  has_rank ? MainJobText(rank) : "", has_rank ? IterationText(rank) : "",
                  has_rank ? FormatShare(rank.bubble_ns(), rank.iteration_ns()) : ""});
  }
  return table.Text();
}

absl::StatusOr<ExitCode> RunDevices(OutputFormat format, CommandContext& context) {
  ASSIGN_OR_RETURN(const auto client, context.connect(context.scheduler));
  ASSIGN_OR_RETURN(const v1::ListDevicesResponse response, client->ListDevices());
  if (format == OutputFormat::kJson) {
    Json json;
    json["devices"] = Json::array();
    for (const v1::Device& device : response.devices())
      json["devices"].push_back(DeviceJson(device));
    context.out << JsonText(json);
  } else if (response.devices().empty()) {
    context.err << "pipefill: no agent is connected; start agentd on the nodes with scheduler \""
                << context.scheduler << "\" in its configuration\n";
  } else {
    context.out << DevicesText(response);
  }
  return kExitOk;
}

std::string KeepText(int64_t seconds) {
  constexpr int64_t kDay = 24 * 3600;
  if (seconds % kDay == 0) return absl::StrCat(seconds / kDay, "d");
  return pipefill::FormatDuration(absl::Seconds(seconds));
}

// What is in use of the limits: "watchers_max 12 of 4,000".
std::string LimitsText(const v1::GetStatusResponse& status) {
  std::vector<std::string> used;
  for (const v1::LimitStatus& limit : status.limits()) {
    if (limit.used() == 0) continue;
    used.push_back(absl::StrCat(limit.name(), " ", FormatCount(limit.used()), " of ",
                                FormatCount(limit.max())));
  }
  return absl::StrJoin(used, ", ");
}

absl::StatusOr<ExitCode> RunStatus(OutputFormat format, CommandContext& context) {
  ASSIGN_OR_RETURN(const auto client, context.connect(context.scheduler));
  ASSIGN_OR_RETURN(const v1::GetStatusResponse status, client->GetStatus());
  if (format == OutputFormat::kJson) {
    context.out << JsonText(StatusJson(status));
    return kExitOk;
  }
  Facts facts;
  facts.Add("policy", status.policy());
  if (!status.policy_error().empty()) {
    facts.AddProse("policy failed", absl::StrCat(status.policy_error(), "; the fallback plans"));
  }
  facts.Add("jobs", absl::StrCat(FormatCount(status.jobs_pending()), " pending, ",
                                 FormatCount(status.jobs_running()), " running, ",
                                 FormatCount(status.jobs_ended()), " ended"));
  facts.Add("agents", status.nodes().empty()
                          ? "none connected"
                          : absl::StrCat(Plural(status.nodes_size(), "node"), ": ",
                                         absl::StrJoin(status.nodes(), ", ")));
  if (status.history_jobs_max() > 0) {
    facts.Add("history",
              absl::StrCat("ended jobs are known for ", KeepText(status.history_keep_seconds()),
                           ", at most ", FormatCount(status.history_jobs_max())));
  }
  facts.AddProse("in use", LimitsText(status));
  if (!status.refusing_text().empty()) facts.Add("refusing", OneLine(status.refusing_text()));
  context.out << "schedulerd " << OneLine(status.version()) << " at " << context.scheduler << "\n"
              << facts.Text();
  return kExitOk;
}

}  // namespace

void AddDevicesCommand(CLI::App& parent, CommandSet& commands) {
  auto format = std::make_shared<OutputFormat>(OutputFormat::kTable);
  CLI::App* command = parent.add_subcommand("devices", "Devices, their main jobs and tasks");
  AddOutputOption(*command, /*with_name=*/false, format.get());
  command->footer(
      "FREE: memory less what the main job uses and what its tasks may use.\n"
      "TASKS: resident, of at most. MAIN JOB: name, rank/ranks, mode unless fill.\n"
      "ITERATION: median of the last 64. BUBBLES: share of iteration time.");
  commands.Add(
      {command, [format](CommandContext& context) { return RunDevices(*format, context); }});
}

void AddStatusCommand(CLI::App& parent, CommandSet& commands) {
  auto format = std::make_shared<OutputFormat>(OutputFormat::kTable);
  CLI::App* command = parent.add_subcommand("status", "Is schedulerd there, and how busy is it");
  AddOutputOption(*command, /*with_name=*/false, format.get());
  commands.Add(
      {command, [format](CommandContext& context) { return RunStatus(*format, context); }});
}

}  // namespace pipefill
