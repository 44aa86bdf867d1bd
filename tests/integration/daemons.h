// What tests of whole daemons share.
//
// Thread-compatible.
#ifndef TESTS_INTEGRATION_DAEMONS_H_
#define TESTS_INTEGRATION_DAEMONS_H_

#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "proto/config.pb.h"

namespace pipefill {

// Only a broken test waits as long as this.
inline constexpr absl::Duration kPatience = absl::Seconds(60);

inline void Pause(absl::Duration duration) {
  absl::Notification never;
  never.WaitForNotificationWithTimeout(duration);
}

// Of this process; short, for a socket's path is.
inline std::string TestFolder() { return absl::StrCat("/tmp/pipefill_test.", getpid()); }

// An agentd with all that it makes in `folder`, and one device, cpu0 of 1 GiB.
inline v1::AgentConfig NodeConfig(const std::string& folder, const std::string& scheduler) {
  v1::AgentConfig config;
  config.set_node("node");
  config.set_scheduler(scheduler);
  config.set_socket(folder + "/agentd.sock");
  config.set_state_dir(folder + "/agentd");
  v1::DeviceConfig& device = *config.add_devices();
  device.set_name("cpu0");
  device.set_cores("0");
  device.set_memory("1GiB");
  // A test must end on a busy machine too.
  device.set_priority("normal");
  return config;
}

}  // namespace pipefill

#endif  // TESTS_INTEGRATION_DAEMONS_H_
