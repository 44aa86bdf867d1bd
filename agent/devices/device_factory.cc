#include "agent/devices/device_factory.h"

#include <sched.h>

#include <algorithm>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "agent/devices/cpu_device.h"
#include "client/pages/turn_page.h"
#include "common/quantity.h"
#include "common/status.h"

namespace pipefill {
namespace {

constexpr size_t kNameMax = 32;
constexpr int32_t kResidentLimitDefault = 2;

// Makes one device after the other and remembers what is taken.
class Factory {
 public:
  Factory(const NodeResources& node, int devices) : node_(node), devices_(devices) {}

  absl::StatusOr<std::unique_ptr<Device>> Make(int index, const v1::DeviceConfig& config) {
    field_ = absl::StrCat("devices[", index, "].");
    RETURN_IF_ERROR(CheckName(config.name()));
    if (!config.backend().empty() && config.backend() != "cpu") {
      return Error("backend", absl::StrCat("there is no back end \"", config.backend(),
                                           "\" in this version; use \"cpu\""));
    }
    CpuDeviceOptions options;
    options.name = config.name();
    ASSIGN_OR_RETURN(options.cores, Cores(config));
    ASSIGN_OR_RETURN(options.memory_bytes, Memory(config));
    ASSIGN_OR_RETURN(options.resident_limit, ResidentLimit(config));
    ASSIGN_OR_RETURN(options.priority, Priority(config));
    options.idle_group = node_.idle_group;
    return std::make_unique<CpuDevice>(options);
  }

 private:
  absl::Status Error(absl::string_view field, absl::string_view text) const {
    return absl::InvalidArgumentError(absl::StrCat(field_, field, ": ", text));
  }

  absl::Status CheckName(const std::string& name) {
    const bool is_clean = std::all_of(name.begin(), name.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
             c == '.' || c == '_' || c == '-';
    });
    if (name.empty() || name.size() > kNameMax || !is_clean) {
      return Error("name", absl::StrCat("\"", name, "\" is no name; use 1 to ", kNameMax,
                                        " of the characters A-Z a-z 0-9 . _ -"));
    }
    if (std::find(names_.begin(), names_.end(), name) != names_.end()) {
      return Error("name", absl::StrCat("\"", name, "\" is the name of another device too"));
    }
    names_.push_back(name);
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<int>> Cores(const v1::DeviceConfig& config) {
    if (config.cores().empty()) return Error("cores", "name at least one, such as \"0-3\"");
    const absl::StatusOr<std::vector<int>> cores = ParseCores(config.cores());
    if (!cores.ok()) return Error("cores", cores.status().message());
    for (const int core : *cores) {
      if (core >= CPU_SETSIZE ||
          !std::binary_search(node_.cores.begin(), node_.cores.end(), core)) {
        return Error("cores", absl::StrCat("core ", core, " does not exist; this node has ",
                                           FormatCores(node_.cores)));
      }
      const auto [owner, is_new] = core_owners_.emplace(core, config.name());
      if (!is_new) {
        return Error("cores", absl::StrCat("core ", core, " belongs to device \"", owner->second,
                                           "\" already; a core can be in one device"));
      }
    }
    return *cores;
  }

  absl::StatusOr<int64_t> Memory(const v1::DeviceConfig& config) const {
    if (config.memory().empty()) return node_.memory_bytes / devices_;
    const absl::StatusOr<int64_t> bytes = ParseBytes(config.memory());
    if (!bytes.ok()) return Error("memory", bytes.status().message());
    if (*bytes <= 0) return Error("memory", "must be more than 0");
    if (*bytes > node_.memory_bytes) {
      return Error("memory", absl::StrCat(FormatBytes(*bytes), " is more than this node has (",
                                          FormatBytes(node_.memory_bytes), ")"));
    }
    return *bytes;
  }

  absl::StatusOr<int32_t> ResidentLimit(const v1::DeviceConfig& config) const {
    const int32_t limit = config.resident_limit();
    // Each task needs a seat in the turn page of the device.
    if (limit < 0 || limit > static_cast<int32_t>(kSeats)) {
      return Error("resident_limit", absl::StrCat(limit, " is not in 1..", kSeats,
                                                  "; absent means ", kResidentLimitDefault));
    }
    return limit == 0 ? kResidentLimitDefault : limit;
  }

  absl::StatusOr<TaskPriority> Priority(const v1::DeviceConfig& config) const {
    if (config.priority().empty() || config.priority() == "idle") return TaskPriority::kIdle;
    if (config.priority() == "normal") return TaskPriority::kNormal;
    return Error("priority", absl::StrCat("\"", config.priority(),
                                          "\" is unknown; use \"idle\" or \"normal\""));
  }

  const NodeResources& node_;
  const int devices_;
  std::string field_;  // of the device that is being made
  std::vector<std::string> names_;
  std::map<int, std::string> core_owners_;
};

}  // namespace

absl::StatusOr<DeviceList> MakeDevices(const v1::AgentConfig& config, const NodeResources& node) {
  if (config.devices().empty()) {
    return absl::InvalidArgumentError(
        "devices: at least one is needed, such as {\"name\": \"cpu0\", \"cores\": \"0\"}");
  }
  DeviceList devices;
  Factory factory(node, config.devices_size());
  for (int i = 0; i < config.devices_size(); ++i) {
    ASSIGN_OR_RETURN(std::unique_ptr<Device> device, factory.Make(i, config.devices(i)));
    devices.push_back(std::move(device));
  }
  return devices;
}

}  // namespace pipefill
