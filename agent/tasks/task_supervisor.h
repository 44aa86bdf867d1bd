// The attempts of this node: starts them, watches them, ends them, and says so.
//
//   Launch --> folder, logs, process --> OnTaskStarted ... OnTaskEnded --> forgotten here
//
//   Inherit --> those of the agentd before this one: adopted, like launched ones from then on; or
//               ended meanwhile; or lost
//
// Each attempt has a TaskMachine, which decides; this class does what it says, and feeds it: exit
// notices, memory and CPU time of all processes of the task (at each Tick), the unit in progress,
// the connection of its gate.
//
// An attempt that cannot be launched ends like any other: with kLaunchFailed if its program is not
// there, with kRefused if the node could not make a process for it.
//
// A task ends as a whole: when its leader is gone, every process that carries the attempt's mark
// (fence and socket in its environment) is killed, whatever group or session it has moved to.
//
// Runs on the agent loop.
#ifndef AGENT_TASKS_TASK_SUPERVISOR_H_
#define AGENT_TASKS_TASK_SUPERVISOR_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "agent/devices/device.h"
#include "agent/devices/process_stat.h"
#include "agent/tasks/attempt.h"
#include "agent/tasks/attempt_folders.h"
#include "agent/tasks/launcher.h"
#include "agent/tasks/task_group.h"
#include "agent/tasks/task_machine.h"
#include "agent/tasks/task_processes.h"
#include "common/loop.h"

namespace pipefill {

struct SupervisorOptions {
  // Given to every task beside its own: PATH, HOME, LANG and the like, by name.
  std::map<std::string, std::string> environment;
  // Where the gates of tasks attach. No other agentd that runs has the same.
  std::string socket;
  // Put in front of the task's PYTHONPATH; empty = nothing.
  std::string python_path;
  int64_t log_max_bytes = int64_t{64} << 20;
  // Empty root = tasks save nothing.
  std::string checkpoint_dir = {};
  // Least and longest useful time between two checkpoints.
  absl::Duration checkpoint_every_min = absl::Seconds(10);
  absl::Duration checkpoint_every_max = absl::Minutes(10);
  // `memory_bytes` is set per task.
  TaskLimits limits;
  TaskGroups groups = {};
  // The program that holds process jobs (client/process); empty = there is none here.
  std::string process_gate = {};
};

// What one task used so far.
struct TaskUse {
  int64_t memory_bytes = 0;
  int64_t memory_peak_bytes = 0;
  absl::Duration cpu = absl::ZeroDuration();
  // Rungs of the ladder, see TaskMachine.
  int64_t overstays = 0;
  int64_t freezes = 0;
  // For people: by what the task is held to its cap, and, of a process job, how it is stopped.
  std::string memory_guard = {};
  std::string stopped_by = {};
  // For people: why its log ends early, if it does.
  std::string log_error = {};
  int64_t processes_denied = 0;  // by the kernel, for its limit
};

// What became of an attempt that the agentd before this one had not done with.
struct InheritedEnd {
  AttemptKey key;
  AttemptEnd end;
};

// Told from inside the supervisor's methods; must not call back into any that changes it.
class TaskListener {
 public:
  virtual ~TaskListener() = default;
  virtual void OnTaskStarted(const AttemptSpec& spec, pid_t pid) = 0;
  // Ask it over its connection to stop.
  virtual void OnTaskShouldStop(const AttemptKey& key) = 0;
  // All its processes are gone, and so is what the supervisor knew about it. Its record has the end
  // once the supervisor's method returns.
  virtual void OnTaskEnded(const AttemptSpec& spec, const AttemptEnd& end, const TaskUse& use) = 0;
};

class TaskSupervisor {
 public:
  // `loop`, `folders` and `listener` outlive the supervisor.
  TaskSupervisor(EventLoop& loop, const AttemptFolders& folders, SupervisorOptions options,
                 TaskListener& listener);
  // Kills what still runs. Its records stay, for the next agentd to report the attempts.
  ~TaskSupervisor();
  TaskSupervisor(const TaskSupervisor&) = delete;
  TaskSupervisor& operator=(const TaskSupervisor&) = delete;

  // Takes over what an agentd before this one left: goes on with what still runs on one of
  // `devices`, thawed if it was frozen; kills what cannot be gone on with; returns the ends of all
  // others. Once, before anything else.
  std::vector<InheritedEnd> Inherit(const std::set<std::string>& devices);
  // Leaves everything to the next agentd, as a crash would.
  void Release();

  // Does nothing if the attempt is here already. `device` outlives the attempt.
  void Launch(const AttemptSpec& spec, const Device& device);
  // False if there is no such attempt.
  bool Stop(const AttemptKey& key, const StopRequest& request);
  void StopAll(const StopRequest& request);

  // Somebody says that the attempt runs: learns its pid, if that is still on its way.
  void CatchUp(const AttemptKey& key);
  // Of the attempt's gate. Unknown attempts are ignored.
  void OnPageGranted(const AttemptKey& key);
  void OnAttached(const AttemptKey& key);
  void OnDetached(const AttemptKey& key);
  // `unit.task_cpu` is filled in here.
  void OnUnitSeen(const AttemptKey& key, UnitView unit);

  // Every 50 ms. `everything`: null, or all processes of the node, for the orphans of tasks.
  void Tick(const ProcessTable* everything);

  // Null if there is none. Valid until the attempt ends.
  const AttemptSpec* Find(const AttemptKey& key) const;
  std::vector<AttemptKey> live() const;
  bool is_empty() const { return tasks_.empty(); }
  // Zeroes if there is no such attempt.
  TaskUse UseOf(const AttemptKey& key) const;
  // It was told to stop, or killed: it is not to get a gate any more.
  bool IsStopping(const AttemptKey& key) const;
  // 0 if there is no such attempt or it has no process yet.
  pid_t PidOf(const AttemptKey& key) const;
  // Attempts of this device, and the sum of their memory caps.
  int32_t CountOn(absl::string_view device) const;
  int64_t CapsOn(absl::string_view device) const;

 private:
  struct Task {
    explicit Task(const AttemptSpec& attempt, const TaskLimits& limits)
        : spec(attempt), machine(limits) {}
    AttemptSpec spec;
    TaskMachine machine;
    AttemptRecord record;
    std::unique_ptr<Process> process;
    std::optional<TaskProcesses> processes;
    TaskGroup group;
    TaskUse use;
    int64_t overstays_logged = 0;
    std::string launch_error;  // why the program could not be run
    // Whose fault it is if there is no process: the node's, unless the job's program is not there.
    EndCause launch_cause = EndCause::kRefused;
  };

  absl::Status StartProcess(Task& task, const Device& device);
  std::vector<std::string> EnvironmentFor(const AttemptSpec& spec, const Device& device) const;
  // nullopt if it goes on as a task of ours.
  std::optional<AttemptEnd> TakeOver(AttemptRecord record, const std::set<std::string>& devices,
                                     const ProcessTable& everything);
  // False if there is nothing to go on with.
  bool Adopt(const AttemptRecord& record, const ProcessTable& everything);
  void OnForked(Task& task);
  void WriteRecord(const AttemptRecord& record) const;
  void Perform(Task& task, const TaskActions& actions);
  // The leader is gone; forgets the task.
  void OnExited(const AttemptKey& key, const std::optional<ProcessExit>& exit);
  void ReportEnd(Task& task);
  // Also reaches members that have a process group of their own.
  static void SignalAll(Task& task, int signal);
  // Of a process job only its gate goes on, and makes the program go on when it may.
  static void Continue(Task& task);
  // Puts the process gate in front of a process job's command.
  absl::Status WrapCommand(const TaskGroup& group, LaunchRequest* request) const;
  static void DescribeGuards(Task& task);
  std::set<AttemptKey> LiveKeys() const;
  std::set<AttemptFolders::Name> LiveNames() const;
  void WatchTask(Task& task, const ProcessTable* everything);
  void LookForMemoryKill(Task& task);
  void LookForDenials(Task& task) const;
  Task* FindTask(const AttemptKey& key);

  EventLoop& loop_;
  const AttemptFolders& folders_;
  const SupervisorOptions options_;
  TaskListener& listener_;
  const std::string boot_id_;
  bool is_released_ = false;
  std::map<AttemptKey, std::unique_ptr<Task>> tasks_;
};

}  // namespace pipefill

#endif  // AGENT_TASKS_TASK_SUPERVISOR_H_
