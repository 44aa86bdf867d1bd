#include "scheduler/service/agent_convert.h"

#include <algorithm>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "common/text.h"
#include "scheduler/convert/convert.h"
#include "scheduler/convert/profile.h"

namespace pipefill::scheduler {
namespace {

constexpr int kDevicesMax = 256;
constexpr int kLiveAttemptsMax = 4096;

absl::Status Bad(absl::string_view field, absl::string_view text) {
  return absl::InvalidArgumentError(absl::StrCat(field, ": ", text));
}

bool IsName(const std::string& name, size_t longest) {
  return !name.empty() && name.size() <= longest &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return absl::ascii_isalnum(c) || c == '.' || c == '_' || c == '-';
         });
}

absl::Status CheckDevice(const Device& device) {
  if (!IsName(device.key.name, 32)) {
    return Bad("devices.name",
               absl::StrCat("\"", device.key.name, "\" is not 1..32 characters of [A-Za-z0-9._-]"));
  }
  if (device.memory_bytes < 0 || device.resident < 0 || device.resident_limit < 0) {
    return Bad("devices", absl::StrCat(device.key.name, " has a number below 0"));
  }
  return absl::OkStatus();
}

// A main rank may use more than the budget: then nothing is free.
void ClampFreeMemory(Device* device) {
  device->memory_free_bytes =
      std::clamp<int64_t>(device->memory_free_bytes, 0, device->memory_bytes);
}

absl::StatusOr<std::vector<Device>> ReadDevices(
    const google::protobuf::RepeatedPtrField<v1::Device>& devices, const std::string& node) {
  if (devices.size() > kDevicesMax) return Bad("devices", "has more than 256 entries");
  std::vector<Device> read;
  std::set<std::string> names;
  for (const v1::Device& from : devices) {
    Device device = FromProto(from);
    device.key.node = node;
    RETURN_IF_ERROR(CheckDevice(device));
    if (!names.insert(device.key.name).second) {
      return Bad("devices.name", absl::StrCat("\"", device.key.name, "\" is there twice"));
    }
    ClampFreeMemory(&device);
    read.push_back(std::move(device));
  }
  return read;
}

// Says to the task of an array which one it is.
void SetArrayVariables(const LaunchAttempt& action, v1::JobSpec* spec) {
  spec->clear_array();
  if (action.array_of == JobId()) return;
  auto& env = *spec->mutable_env();
  env["PIPEFILL_ARRAY_ID"] = absl::StrCat(action.array_of.value());
  env["PIPEFILL_ARRAY_INDEX"] = absl::StrCat(action.array_index);
  env["PIPEFILL_ARRAY_COUNT"] = absl::StrCat(action.spec->array->size());
}

void Fill(const KeepAgentAlive&, const AgentTerms&, v1::AgentCommand* command) {
  command->mutable_keep_alive();
}

void Fill(const WelcomeAgent&, const AgentTerms& terms, v1::AgentCommand* command) {
  v1::Welcome* welcome = command->mutable_welcome();
  welcome->set_lease_ns(absl::ToInt64Nanoseconds(terms.lease));
  welcome->set_report_period_ns(absl::ToInt64Nanoseconds(terms.report_period));
}

void Fill(const LaunchAttempt& action, const AgentTerms&, v1::AgentCommand* command) {
  v1::LaunchAttempt* launch = command->mutable_launch();
  *launch->mutable_key() = ToProto(action.attempt);
  launch->set_device(action.device.name);
  *launch->mutable_spec() = ToProto(*action.spec);
  launch->mutable_spec()->clear_profile();  // agentd has no use for it
  launch->mutable_spec()->clear_dependencies();
  SetArrayVariables(action, launch->mutable_spec());
  if (action.configuration.has_value()) launch->set_config(ConfigText(*action.configuration));
  launch->mutable_spec()->set_memory_bytes(action.memory_bytes);
  // The higher priority goes first, the lower rank.
  launch->set_policy_rank(-action.spec->priority);
  launch->set_job_submitted_unix_ns(absl::ToUnixNanos(action.job_submitted_at));
}

void Fill(const StopAttempt& action, const AgentTerms& terms, v1::AgentCommand* command) {
  v1::StopAttempt* stop = command->mutable_stop();
  *stop->mutable_key() = ToProto(action.attempt);
  stop->set_cause(ToProto(action.cause));
  stop->set_grace_ns(absl::ToInt64Nanoseconds(terms.stop_grace));
  stop->set_text(action.text);
}

void Fill(const SetMainJob& action, const AgentTerms&, v1::AgentCommand* command) {
  *command->mutable_main_job_settings() = ToProto(action.settings);
}

void Fill(const AcknowledgeEnd& action, const AgentTerms&, v1::AgentCommand* command) {
  v1::EndAcknowledged* acknowledged = command->mutable_end_acknowledged();
  *acknowledged->mutable_key() = ToProto(action.attempt);
  if (!action.job_over_submitted_at.has_value()) return;
  acknowledged->set_job_over_submitted_unix_ns(absl::ToUnixNanos(*action.job_over_submitted_at));
}

}  // namespace

absl::StatusOr<AgentRegistered> ReadHello(const v1::AgentHello& hello, SessionId session) {
  if (!IsName(hello.node(), 64)) {
    return Bad("node",
               absl::StrCat("\"", hello.node(), "\" is not 1..64 characters of [A-Za-z0-9._-]"));
  }
  if (hello.boot_id().empty()) return Bad("boot_id", "is missing");
  if (hello.live_attempts_size() > kLiveAttemptsMax) {
    return Bad("live_attempts", "has more than 4096 entries");
  }
  ASSIGN_OR_RETURN(std::vector<Device> devices, ReadDevices(hello.devices(), hello.node()));
  AgentRegistered event{session,         hello.node(),       hello.boot_id(),
                        hello.version(), std::move(devices), {}};
  for (const v1::AttemptKey& key : hello.live_attempts()) {
    event.live_attempts.push_back(FromProto(key));
  }
  return event;
}

absl::StatusOr<AgentReported> ReadReport(const v1::AgentReport& report, const std::string& node,
                                         SessionId session) {
  ASSIGN_OR_RETURN(std::vector<Device> devices, ReadDevices(report.devices(), node));
  AgentReported event{session, std::move(devices), {}, {}};
  for (const v1::BubbleStats& from : report.bubbles()) {
    BubbleStats stats = FromProto(from);
    stats.device.node = node;
    event.bubbles.push_back(std::move(stats));
  }
  for (const v1::AttemptProgress& from : report.progress()) {
    event.progress.emplace_back(FromProto(from.key()), FromProto(from.progress()));
  }
  return event;
}

AttemptEnded ReadEnded(const v1::AttemptEnded& ended) {
  constexpr size_t kTextMax = 1024;
  AttemptEnded event;
  event.attempt = FromProto(ended.key());
  event.end = {FromProto(ended.cause()), ended.exit_code(), ended.signal(),
               CutText(ended.text(), kTextMax)};
  event.progress = FromProto(ended.progress());
  return event;
}

v1::AgentCommand ToCommand(const Action& action, const AgentTerms& terms) {
  v1::AgentCommand command;
  std::visit([&](const auto& content) { Fill(content, terms, &command); }, action);
  return command;
}

}  // namespace pipefill::scheduler
