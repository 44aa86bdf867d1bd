#include "cli/main_settings.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "cli/json.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/share.h"
#include "cli/words.h"
#include "common/quantity.h"
#include "common/status.h"

namespace pipefill {
namespace {

constexpr char kAsAttached[] = "as-attached";
// One page of them is enough to find the longest unit.
constexpr int32_t kJobsMax = 1000;

// Where a main job runs, and what fills it there now.
struct Filled {
  int64_t devices = 0;
  int64_t tasks = 0;
  int64_t unit_estimate_ns = 0;  // of the longest unit that may run; 0 = not known
};

absl::StatusOr<Filled> FindFilled(SchedulerClient& client, const std::string& main_job) {
  Filled filled;
  std::set<std::string> devices;
  ASSIGN_OR_RETURN(const v1::ListDevicesResponse listed, client.ListDevices());
  for (const v1::Device& device : listed.devices()) {
    if (device.main_rank().main_job() != main_job) continue;
    devices.insert(DeviceName(device.node(), device.name()));
  }
  filled.devices = static_cast<int64_t>(devices.size());
  v1::ListJobsRequest request;
  request.set_active_only(true);
  request.set_limit(kJobsMax);
  ASSIGN_OR_RETURN(const v1::ListJobsResponse jobs, client.ListJobs(request));
  for (const v1::Job& job : jobs.jobs()) {
    const v1::Attempt* attempt = LastAttempt(job);
    const bool is_there = job.state() == v1::JOB_STATE_RUNNING && attempt != nullptr &&
                          devices.contains(DeviceName(attempt->node(), attempt->device()));
    if (!is_there) continue;
    ++filled.tasks;
    filled.unit_estimate_ns =
        std::max(filled.unit_estimate_ns, attempt->progress().unit_estimate_ns());
  }
  return filled;
}

// "on 2 devices"; "; no rank is attached now, it holds for the next" without one.
std::string Where(const Filled& filled) {
  if (filled.devices == 0) return "; no rank is attached now, so it holds for the next that is";
  return absl::StrCat(" on ", Plural(filled.devices, "device"));
}

std::string PausedText(const Filled& filled) {
  std::string text = absl::StrCat(" is paused", Where(filled));
  if (filled.devices == 0) return text;
  if (filled.tasks == 0) return absl::StrCat(text, ": nothing is filled there now");
  absl::StrAppend(&text, ": no further unit starts");
  if (filled.unit_estimate_ns == 0) return text;
  return absl::StrCat(text, "; one that runs now ends within about ",
                      pipefill::FormatDuration(absl::Nanoseconds(filled.unit_estimate_ns)));
}

std::string ResumedText(const Filled& filled, const v1::MainJobSettings& settings) {
  std::string text = absl::StrCat(" is not paused any more", Where(filled));
  const bool is_filled =
      settings.mode() == v1::FILL_MODE_FILL || settings.mode() == v1::FILL_MODE_UNSPECIFIED;
  if (!is_filled) {
    return absl::StrCat(text, "; its mode is ", Word(settings.mode()), ", so nothing is filled");
  }
  if (filled.devices == 0) return text;
  return absl::StrCat(text, ": units start again in the next bubble");
}

std::string ModeText(const Filled& filled, const v1::MainJobSettings& settings) {
  const bool is_set = settings.mode() != v1::FILL_MODE_UNSPECIFIED;
  std::string text =
      absl::StrCat(": mode ", is_set ? Word(settings.mode()) : kAsAttached, Where(filled));
  if (settings.paused()) absl::StrAppend(&text, "; it is paused, so nothing is filled");
  return text;
}

std::string BudgetText(const Filled& filled, const v1::MainJobSettings& settings) {
  return absl::StrCat(": budget ",
                      settings.budget_ppm() == 0 ? kAsAttached : FormatPpm(settings.budget_ppm()),
                      Where(filled));
}

std::string RuleText(const Filled& filled, const v1::MainJobSettings& settings) {
  const uint32_t share_ppm = settings.static_share_ppm();
  return absl::StrCat(
      ": rule ", share_ppm == 0 ? "latest-start" : absl::StrCat("static: ", FormatPpm(share_ppm)),
      Where(filled));
}

using Describe = std::string (*)(const Filled& filled, const v1::MainJobSettings& settings);

// One of these commands.
struct Setting {
  const char* name;
  const char* meaning;
  const char* value_meaning;  // null = it takes none
  // Reads the value into the request.
  absl::Status (*read)(const std::string& value, v1::UpdateMainJobRequest* request);
  Describe describe;
};

absl::StatusOr<ExitCode> Update(const Setting& setting, const v1::UpdateMainJobRequest& request,
                                OutputFormat format, CommandContext& context) {
  ASSIGN_OR_RETURN(const auto client, context.connect(context.scheduler));
  ASSIGN_OR_RETURN(const v1::MainJobSettings settings, client->UpdateMainJob(request));
  if (format == OutputFormat::kJson) {
    context.out << JsonText(MainSettingsJson(settings));
    return kExitOk;
  }
  // It is done; what follows only makes the answer better.
  const Filled filled = FindFilled(*client, request.main_job()).value_or(Filled());
  context.out << OneLine(settings.main_job()) << setting.describe(filled, settings) << "\n";
  return kExitOk;
}

void AddSetting(CLI::App& parent, CommandSet& commands, const Setting& setting) {
  struct Words {
    std::string main_job;
    std::string value;
    OutputFormat format = OutputFormat::kTable;
  };
  auto words = std::make_shared<Words>();
  CLI::App* command = parent.add_subcommand(setting.name, setting.meaning);
  command->add_option("MAIN", words->main_job, "Name of the main job")->required()->type_name("");
  if (setting.value_meaning != nullptr) {
    command->add_option("VALUE", words->value, setting.value_meaning)->required()->type_name("");
  }
  AddOutputOption(*command, /*with_name=*/false, &words->format);
  commands.Add({command, [words, setting](CommandContext& context) -> absl::StatusOr<ExitCode> {
                  v1::UpdateMainJobRequest request;
                  request.set_main_job(words->main_job);
                  RETURN_IF_ERROR(setting.read(words->value, &request));
                  return Update(setting, request, words->format, context);
                }});
}

absl::Status ReadBudget(const std::string& value, v1::UpdateMainJobRequest* request) {
  request->set_budget_ppm(0);
  if (value == kAsAttached) return absl::OkStatus();
  ASSIGN_OR_RETURN(const uint32_t ppm, ParsePpm("budget", value));
  request->set_budget_ppm(ppm);
  return absl::OkStatus();
}

absl::Status ReadMode(const std::string& value, v1::UpdateMainJobRequest* request) {
  for (const v1::FillMode mode : {v1::FILL_MODE_OFF, v1::FILL_MODE_REPORT, v1::FILL_MODE_FILL}) {
    if (value == Word(mode)) request->set_mode(mode);
  }
  if (value == kAsAttached) request->set_mode(v1::FILL_MODE_UNSPECIFIED);
  if (request->has_mode()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("not a mode: ", value, "; choose off, report, fill or ", kAsAttached));
}

absl::Status ReadRule(const std::string& value, v1::UpdateMainJobRequest* request) {
  request->set_static_share_ppm(0);
  if (value == "latest-start") return absl::OkStatus();
  absl::string_view share = value;
  if (!absl::ConsumePrefix(&share, "static:")) {
    return absl::InvalidArgumentError(
        absl::StrCat("not a rule: ", value, "; choose latest-start or static:68%"));
  }
  ASSIGN_OR_RETURN(const uint32_t ppm, ParsePpm("share", share));
  request->set_static_share_ppm(ppm);
  return absl::OkStatus();
}

}  // namespace

void AddMainSettings(CLI::App& main, CommandSet& commands) {
  AddSetting(main, commands,
             {"set-budget", "How much filling may slow it down",
              "Share of time: 0.5% or 0.005; or as-attached", ReadBudget, BudgetText});
  AddSetting(main, commands,
             {"set-mode", "Off, only measured, or filled", "off, report, fill, or as-attached",
              ReadMode, ModeText});
  AddSetting(main, commands,
             {"set-rule", "What tells when units may start; to compare",
              "latest-start, or static:68%", ReadRule, RuleText});
}

void AddPauseCommand(CLI::App& parent, CommandSet& commands) {
  AddSetting(parent, commands,
             {"pause", "Fill a main job no more, within one unit", nullptr,
              [](const std::string&, v1::UpdateMainJobRequest* request) {
                request->set_paused(true);
                return absl::OkStatus();
              },
              [](const Filled& filled, const v1::MainJobSettings&) { return PausedText(filled); }});
}

void AddResumeCommand(CLI::App& parent, CommandSet& commands) {
  AddSetting(parent, commands,
             {"resume", "Fill a paused main job again", nullptr,
              [](const std::string&, v1::UpdateMainJobRequest* request) {
                request->set_paused(false);
                return absl::OkStatus();
              },
              ResumedText});
}

}  // namespace pipefill
