// Finds the processes of one task and adds up what they use.
//
// A task's processes are those that descend from its leader, and those of the leader's session that
// lost their parent. Descendants are found at each reading. Orphans are looked for only when the
// caller brings a table of all processes, which is costly to make on a busy node, and are
// remembered until they are gone. A process that left both the family and the session is not seen.
//
// Reads /proc. Thread-compatible: belongs to the agent loop.
#ifndef AGENT_TASKS_TASK_PROCESSES_H_
#define AGENT_TASKS_TASK_PROCESSES_H_

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "agent/devices/process_stat.h"

namespace pipefill {

class TaskProcesses {
 public:
  // `leader`: of its own session.
  explicit TaskProcesses(pid_t leader) : leader_(leader) {}

  // `memory_bytes` of the result counts shared pages once (PSS) if plain addition (RSS) comes out
  // above `exact_above_bytes`: the exact count is too slow to be made each time. `cpu` never falls.
  // `everything`: null, or all processes now.
  ProcessUse Read(int64_t exact_above_bytes, const ProcessTable* everything);
  // By the last reading: the leader is stopped (SIGSTOP), by whomever.
  bool is_leader_stopped() const { return is_leader_stopped_; }
  // What the last reading found alive, the leader included.
  const std::vector<pid_t>& members() const { return members_; }

 private:
  std::vector<pid_t> FindMembers(const ProcessTable* everything);

  const pid_t leader_;
  std::vector<pid_t> orphans_;
  std::vector<pid_t> members_;
  bool is_leader_stopped_ = false;
  absl::Duration cpu_seen_ = absl::ZeroDuration();
};

}  // namespace pipefill

#endif  // AGENT_TASKS_TASK_PROCESSES_H_
