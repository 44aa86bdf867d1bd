// A set of cores as a device. The main rank is pinned to them by whoever launches it; tasks are
// pinned by agentd and get what the rank leaves idle.
//
// Idle priority beside the gate: without it a rank that wakes up would wait for the rest of the
// kernel's time slice whenever a unit still runs on its core. Of the tasks among each other by
// their class, of tasks and main job by their groups (idle_group.h).
//
// Thread-compatible: see device.h.
#ifndef AGENT_DEVICES_CPU_DEVICE_H_
#define AGENT_DEVICES_CPU_DEVICE_H_

#include <sched.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "agent/devices/device.h"
#include "agent/devices/idle_group.h"

namespace pipefill {

enum class TaskPriority {
  kIdle,    // SCHED_IDLE in an idle group
  kNormal,  // for benchmarks: shows what the idle class is good for
};

struct CpuDeviceOptions {
  std::string name;
  std::vector<int> cores;  // sorted, not empty
  int64_t memory_bytes = 0;
  int32_t resident_limit = 2;
  TaskPriority priority = TaskPriority::kIdle;
  IdleGroup idle_group = {};  // with kIdle
};

class CpuDevice : public Device {
 public:
  // REQUIRES: every core in [0, CPU_SETSIZE).
  explicit CpuDevice(const CpuDeviceOptions& options);

  const DeviceDescription& description() const override { return description_; }
  // Resident memory of the rank and its descendants.
  int64_t MemoryUsedBy(pid_t rank_pid, const ProcessTable& processes) const override;
  // Thread counts of the usual numeric libraries: one thread per core.
  std::map<std::string, std::string> TaskEnvironment() const override;
  // Affinity, group and scheduling class.
  int ApplyInChild() const noexcept override;
  // The rank's affinity lies within the cores.
  bool IsPlaceOf(pid_t rank_pid) const override;

  const std::vector<int>& cores() const { return cores_; }

 private:
  const DeviceDescription description_;
  const std::vector<int> cores_;
  const TaskPriority priority_;
  const IdleGroup idle_group_;
  cpu_set_t core_set_;
};

}  // namespace pipefill

#endif  // AGENT_DEVICES_CPU_DEVICE_H_
