// One device that can be filled, as agentd sees it. Back ends implement Device; the cpu back end (a
// set of cores) is the only one of this version.
//
// Thread-compatible: used on the agent loop; ApplyInChild also in a forked child.
#ifndef AGENT_DEVICES_DEVICE_H_
#define AGENT_DEVICES_DEVICE_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/devices/process_stat.h"

namespace pipefill {

struct DeviceDescription {
  std::string name;     // unique on the node
  std::string backend;  // "cpu"
  std::string detail;   // for people: "cores 0-3"
  int64_t memory_bytes = 0;
  int32_t resident_limit = 2;
};

class Device {
 public:
  virtual ~Device() = default;

  // The same for the whole life of the device.
  virtual const DeviceDescription& description() const = 0;

  // Device memory that the main rank uses, its child processes included; 0 if it is gone.
  virtual int64_t MemoryUsedBy(pid_t rank_pid, const ProcessTable& processes) const = 0;

  // Variables that a task on this device needs, by name. What the user set goes before them.
  virtual std::map<std::string, std::string> TaskEnvironment() const = 0;

  // Ties the calling process to the device, as a task: placement and priority. For a child between
  // fork and exec: async-signal-safe, allocates nothing. 0, or an errno value.
  virtual int ApplyInChild() const noexcept = 0;

  // Whether a main rank that names no device runs here, judged by how the process was launched.
  virtual bool IsPlaceOf(pid_t rank_pid) const = 0;
};

using DeviceList = std::vector<std::unique_ptr<Device>>;

// Which device a rank is on: the one called `name`, or with an empty name the only one that is the
// place of `rank_pid`. NotFound with one line that says which devices there are and what to do.
absl::StatusOr<size_t> FindRankDevice(const DeviceList& devices, absl::string_view name,
                                      pid_t rank_pid);

}  // namespace pipefill

#endif  // AGENT_DEVICES_DEVICE_H_
