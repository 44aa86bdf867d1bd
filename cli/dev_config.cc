#include "cli/dev_config.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/quantity.h"
#include "common/status.h"

namespace pipefill {
namespace {

constexpr size_t kDefaultDevices = 2;
// sun_path of a Unix socket holds 107 characters and a NUL.
constexpr size_t kSocketPathMax = 107;

absl::StatusOr<std::vector<int>> ChooseCores(const std::string& text,
                                             const std::vector<int>& allowed) {
  if (!text.empty()) {
    const absl::StatusOr<std::vector<int>> cores = ParseCores(text);
    if (!cores.ok()) return WithContext(cores.status(), "--cores");
    for (int core : *cores) {
      if (std::find(allowed.begin(), allowed.end(), core) != allowed.end()) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("--cores: this machine has no such core: core=", core,
                       " cores=", FormatCores(allowed), "; choose from these"));
    }
    return *cores;
  }
  if (allowed.size() < kDefaultDevices) {
    return absl::FailedPreconditionError(absl::StrCat(
        "two devices need two cores: cores=", FormatCores(allowed),
        "; run it where there are two, or ask for one device with --cores ", FormatCores(allowed)));
  }
  return std::vector<int>(allowed.begin(), allowed.begin() + kDefaultDevices);
}

absl::Status CheckQuantities(const DevOptions& options) {
  if (!options.memory.empty()) {
    const absl::StatusOr<int64_t> memory_bytes = ParseBytes(options.memory);
    if (!memory_bytes.ok()) return WithContext(memory_bytes.status(), "--memory");
  }
  if (!options.drain_period.empty()) {
    const absl::StatusOr<absl::Duration> period = ParsePositiveDuration(options.drain_period);
    if (!period.ok()) return WithContext(period.status(), "--drain-period");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<DevConfig> MakeDevConfig(const DevOptions& options,
                                        const std::vector<int>& allowed_cores) {
  ASSIGN_OR_RETURN(const std::vector<int> cores, ChooseCores(options.cores, allowed_cores));
  RETURN_IF_ERROR(CheckQuantities(options));
  DevConfig config;
  config.scheduler.set_listen(options.listen);
  config.scheduler.set_state_dir(absl::StrCat(options.state_folder, "/schedulerd"));
  config.scheduler.set_log_level(options.log_level);

  v1::AgentConfig& agent = config.agent;
  agent.set_socket(absl::StrCat(options.state_folder, "/agentd.sock"));
  if (agent.socket().size() > kSocketPathMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("--state: path too long for a socket: length=", agent.socket().size(),
                     " max=", kSocketPathMax, "; choose a shorter folder"));
  }
  agent.set_state_dir(absl::StrCat(options.state_folder, "/agentd"));
  for (size_t i = 0; i < cores.size(); ++i) {
    v1::DeviceConfig& device = *agent.add_devices();
    device.set_name(absl::StrCat("cpu", i));
    device.set_backend("cpu");
    device.set_cores(absl::StrCat(cores[i]));
    device.set_memory(options.memory);
  }
  if (options.hold_out_block > 0 || options.hold_out_one_in > 0) {
    v1::HoldOutConfig& hold_out = *agent.mutable_hold_out();
    hold_out.set_block_iterations(static_cast<uint32_t>(std::max(options.hold_out_block, 1)));
    // Left out it is agentd's default; 0 would mean none.
    if (options.hold_out_one_in > 0) {
      hold_out.set_one_in(static_cast<uint32_t>(options.hold_out_one_in));
    }
  }
  agent.set_drain_period(options.drain_period);
  agent.set_python_path(options.python_path);
  agent.set_log_level(options.log_level);
  return config;
}

std::string DevWelcome(const DevConfig& config, absl::string_view default_address) {
  std::vector<std::string> devices;
  for (const v1::DeviceConfig& device : config.agent.devices()) {
    devices.push_back(absl::StrCat(device.name(), " on core ", device.cores()));
  }
  const std::string& address = config.agent.scheduler();
  const std::string command =
      address == default_address ? "pipefill" : absl::StrCat("pipefill --scheduler ", address);
  const std::string python_path =
      config.agent.python_path().empty()
          ? ""
          : absl::StrCat("PYTHONPATH=", config.agent.python_path(), " ");
  return absl::StrCat(
      "pipefill is up\n",                                                                       //
      "  schedulerd  ", address, "\n",                                                          //
      "  agentd      ", config.agent.socket(), "\n",                                            //
      "  devices     ", absl::StrJoin(devices, ", "), "\n",                                     //
      "\nnext\n",                                                                               //
      "  a training run that calls pipefill.attach(); its bubbles will be filled:\n",           //
      "      PIPEFILL_SOCKET=", config.agent.socket(), " ", python_path, "python3 train.py\n",  //
      "  a fill job:\n",                                                                        //
      "      ", command, " submit --workdir . -- python3 job.py\n",                             //
      "  what is idle, and how much of it is filled:\n",                                        //
      "      ", command, " bubbles\n",                                                          //
      "\nCtrl-C stops everything\n");
}

}  // namespace pipefill
