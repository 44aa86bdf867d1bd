// The keeper of one task: its parent process, which outlives agentd.
//
//   agentd --fork--> keeper --fork, exec--> task, leader of its own session
//                      |  copies stdout and stderr into the logs (attempt_log.h)
//                      |  waits for the task, kills what is left of its group
//                      v  leaves the exit record (exit_record.h), ends
//
// Only a parent learns how a process ended, and a task's output must go somewhere while there is no
// agentd; so each task has a parent of its own, that does nothing else. The agentd that comes next
// finds it by its number and start time, and watches it as if it were its child.
//
// The task alone has the device's cores and scheduling class. It dies with its keeper.
//
// The keeper is agentd's image after a fork, without an exec: it makes async-signal-safe calls
// only, and shares agentd's memory for as long as neither writes to it. It closes all of agentd's
// descriptors and ignores all signals but SIGKILL.
//
// Thread-compatible: RunKeeper is for the child of a fork, which has one thread.
#ifndef AGENT_TASKS_KEEPER_H_
#define AGENT_TASKS_KEEPER_H_

#include <sys/types.h>

#include "agent/devices/device.h"
#include "agent/tasks/attempt_log.h"
#include "agent/tasks/task_group.h"

namespace pipefill {

enum class StartStep : int { kForked, kFork, kDevice, kGroup, kWorkdir, kExec };

// What keeper and task write into `report`: first kForked, by the task, then nothing but the end of
// the pipe when the program runs; or one of the others, when it cannot. Each is one write.
struct StartNews {
  StartStep step = StartStep::kForked;
  int error_number = 0;
  pid_t task = 0;  // with kForked
};

// Ends of a log's pipe, its file and that of its times.
struct KeptStream {
  int reader = -1;
  int file = -1;
  int writer = -1;
  int times = -1;
};

// Everything the keeper needs, made before the fork. Descriptors lie at kPlanDescriptorMin and
// above.
struct KeeperPlan {
  const char* program;
  char* const* argv;
  char* const* environment;
  const char* workdir;
  const Device* device;  // null = as agentd itself
  const TaskGroup* group;
  int64_t data_max_bytes;  // RLIMIT_DATA; 0 = as agentd has it
  int null_input;
  int report;
  int folder;  // of the attempt
  KeptStream output;
  KeptStream error;
  LogLimit log_limit;
};
inline constexpr int kPlanDescriptorMin = 16;

// Its exit status is 0 when it has left an exit record. When it could not, it is that of the task,
// or 128 and the number of the signal that ended it.
[[noreturn]] void RunKeeper(const KeeperPlan& plan) noexcept;

}  // namespace pipefill

#endif  // AGENT_TASKS_KEEPER_H_
