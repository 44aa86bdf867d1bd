// The configuration of agentd (proto/config.proto), checked, with its defaults, in types with
// units.
//
// Pure.
#ifndef AGENT_AGENT_SETTINGS_H_
#define AGENT_AGENT_SETTINGS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "agent/learn/bubble_predictor.h"
#include "agent/learn/fill_limits.h"
#include "agent/page_writer.h"
#include "agent/tasks/task_machine.h"
#include "proto/config.pb.h"

namespace pipefill {

struct AgentSettings {
  std::string node;
  std::string scheduler;
  std::string socket;
  std::string socket_group;
  bool keep_tasks_at_stop = false;
  std::string state_dir;
  std::string python_path;
  std::string checkpoint_dir;
  absl::Duration checkpoint_every_min;
  absl::Duration checkpoint_every_max;
  WindowOptions window;
  PredictorOptions predictor;
  ControllerOptions controller;
  FailureOptions failure;
  int64_t trace_max_bytes = 0;
  int64_t log_max_bytes = 0;
  // Of one task; `memory_bytes` is that of the task.
  TaskLimits task_limits;
  // Empty = to be looked for beside agentd.
  std::string process_gate;
  absl::Duration drain_period;
  // error, warn, info or debug.
  std::string log_level;
};

// InvalidArgument names the field. Devices are another matter (devices/device_factory.h).
// `host_name` is the default of `node`.
absl::StatusOr<AgentSettings> ReadSettings(const v1::AgentConfig& config,
                                           const std::string& host_name);

}  // namespace pipefill

#endif  // AGENT_AGENT_SETTINGS_H_
