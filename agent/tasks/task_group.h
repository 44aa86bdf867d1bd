// Control groups around each task: the kernel itself keeps its memory and its number of processes
// within limits, and stops the program of a process job at once.
//
//   memory, pids   of version 1, or of version 2 where they are there
//   freezer        of version 2, in which a frozen process can still be killed. (In that of version
//                  1 it cannot, and would stay for good if whoever holds it is killed.)
//
// Version 2: `pipefill/<task>` at the root, below the idle group of the tasks (idle_group.h), and
// in it `held` for a program that is to be stopped. Version 1: `pipefill/<task>` below agentd's own
// group. What cannot be made is left out; somebody else then has to do its work.
//
// A group that is still in use when its task has ended is removed later, by Sweep.
//
// Thread-compatible: belongs to the agent loop; JoinInChild also in a forked child.
#ifndef AGENT_TASKS_TASK_GROUP_H_
#define AGENT_TASKS_TASK_GROUP_H_

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "agent/tasks/attempt.h"

namespace pipefill {

struct TaskGroupLimits {
  int64_t memory_bytes = 0;
  int32_t processes_max = 0;
};

// The groups of one task.
class TaskGroup {
 public:
  // None.
  TaskGroup() = default;

  // Moves the calling process in. For a child between fork and exec: async-signal-safe, allocates
  // nothing. 0, or an errno value.
  int JoinInChild() const noexcept;

  // By what the kernel keeps the task's memory and processes within their limits: "control group
  // (version 1)"; empty = it does not.
  const std::string& memory_guard() const { return memory_guard_; }
  bool has_processes_limit() const { return has_processes_limit_; }
  // For the program of a process job; empty = there is none.
  const std::string& held_folder() const { return held_folder_; }

  // How many processes and threads the kernel refused to the task because of its limit.
  int64_t CountProcessesDenied() const;
  // How often the kernel killed a process of the task because of its limit.
  int64_t CountMemoryKills() const;
  // The most memory that it had at a time, caches included; 0 if the kernel does not tell.
  int64_t ReadMemoryPeak() const;
  // Ends all that is in the groups, whatever it has done to hide.
  void KillAll() const;

 private:
  friend class TaskGroups;

  std::string memory_guard_;
  bool has_processes_limit_ = false;
  std::string pids_folder_;
  std::string memory_folder_;
  bool is_memory_version_2_ = false;
  std::string held_folder_;
  std::vector<std::string> procs_files_;  // to be joined
};

class TaskGroups {
 public:
  // None can be made.
  TaskGroups() = default;
  // `mounts`, `own_groups`: text like that of /proc/mounts and /proc/self/cgroup. `agent` tells the
  // agents of a node apart.
  TaskGroups(absl::string_view mounts, absl::string_view own_groups, absl::string_view agent);

  TaskGroup Make(const AttemptKey& key, const TaskGroupLimits& limits) const;
  // Those that an agent before this one has made.
  TaskGroup Find(const AttemptKey& key) const;
  // Removes all groups of this agent but those of `live`, as far as they are empty.
  void Sweep(const std::set<AttemptKey>& live) const;

 private:
  std::string NameOf(const AttemptKey& key) const;
  TaskGroup Describe(const AttemptKey& key) const;

  std::string suffix_;  // of the names of this agent's groups
  // Folders that hold the groups; empty = there is no such controller.
  std::string memory_;
  std::string pids_;
  std::string unified_;
  bool is_memory_version_2_ = false;
  bool is_pids_version_2_ = false;
};

}  // namespace pipefill

#endif  // AGENT_TASKS_TASK_GROUP_H_
