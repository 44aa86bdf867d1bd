// Makes the devices that a configuration names.
//
// Pure: what the node has is an argument.
#ifndef AGENT_DEVICES_DEVICE_FACTORY_H_
#define AGENT_DEVICES_DEVICE_FACTORY_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/devices/device.h"
#include "agent/devices/idle_group.h"
#include "proto/config.pb.h"

namespace pipefill {

struct NodeResources {
  std::vector<int> cores;  // that agentd may use, sorted
  int64_t memory_bytes = 0;
  IdleGroup idle_group = {};  // of the tasks on cpu devices
};

// In the order of the configuration. InvalidArgument names the field:
//   devices[0].cores: core 64 does not exist; this node has 0-1
// Refused: no devices, a bad or repeated name, a back end other than "cpu" (empty = "cpu"), cores
// that are missing, malformed or in two devices, memory that is malformed, zero or more than the
// node has, a negative resident limit, an unknown priority.
absl::StatusOr<DeviceList> MakeDevices(const v1::AgentConfig& config, const NodeResources& node);

}  // namespace pipefill

#endif  // AGENT_DEVICES_DEVICE_FACTORY_H_
