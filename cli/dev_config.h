// Makes the configurations of the schedulerd and the agentd that `pipefill dev` runs.
//
// Pure.
#ifndef CLI_DEV_CONFIG_H_
#define CLI_DEV_CONFIG_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/config.pb.h"

namespace pipefill {

struct DevOptions {
  std::string state_folder;
  std::string listen = "127.0.0.1:7700";  // port 0 = any free one
  std::string cores;                      // "0,1"; empty = the first two that there are
  std::string memory;                     // of each device; empty = agentd's default
  int32_t hold_out_block = 0;             // 0 = agentd's default
  int32_t hold_out_one_in = 0;            // likewise
  std::string drain_period;               // likewise, when empty
  std::string python_path;                // empty = none
  std::string log_level = "warn";
};

struct DevConfig {
  v1::SchedulerConfig scheduler;
  v1::AgentConfig agent;  // `scheduler` is set once that one has bound its port
};

// One device per core, named cpu0, cpu1, ...; all state below options.state_folder, an absolute
// path. InvalidArgument names the option; FailedPrecondition if there are fewer than two cores.
absl::StatusOr<DevConfig> MakeDevConfig(const DevOptions& options,
                                        const std::vector<int>& allowed_cores);

// Where things are, and what to do next; `default_address` is the one that commands use by
// themselves.
std::string DevWelcome(const DevConfig& config, absl::string_view default_address);

}  // namespace pipefill

#endif  // CLI_DEV_CONFIG_H_
