// Starts a program under a keeper (keeper.h) as the leader of its own session and process group,
// tells when it has started or could not, and when it is gone; or takes over what an agentd before
// this one has started.
//
//   Launch --> keeper made --> on_forked --> on_started                        --> on_exited,
//   always
//      |                              \--> on_failed("cannot run /x: ...")  --/    last, once
//      +-- error: nothing was started, e.g. "command not found: foo"
//   Adopt  ------------------------------------------------------------------> on_exited
//
// The program has: the device's cores and scheduling class, stdin from /dev/null, stdout and stderr
// going to the logs, no other descriptor, default signal handling, the given environment and
// nothing of ours, and is the kernel's first choice when the node runs out of memory.
//
// When the leader has ended, what is left of its group is killed before on_exited: a task ends as a
// whole.
//
// Runs on the agent loop.
#ifndef AGENT_TASKS_LAUNCHER_H_
#define AGENT_TASKS_LAUNCHER_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/devices/device.h"
#include "agent/tasks/attempt.h"
#include "agent/tasks/keeper.h"
#include "agent/tasks/task_group.h"
#include "common/file_descriptor.h"
#include "common/loop.h"

namespace pipefill {

struct LaunchRequest {
  // At least one; the first is looked up in the PATH of `environment`, as a shell would.
  std::vector<std::string> command;
  // "NAME=value"; the whole of it.
  std::vector<std::string> environment;
  // Must exist.
  std::string workdir;
  // Exists; gets the logs and the exit record.
  std::string folder;
  std::string stdout_log;
  std::string stderr_log;
  int64_t log_max_bytes = int64_t{64} << 20;
  // Where it runs; null = as agentd itself. Needed until Launch returns.
  const Device* device = nullptr;
  TaskGroup group = {};
  // The most private writable memory that one process may map; 0 = as much as it wants.
  int64_t data_max_bytes = 0;
};

// Where the program lies. NotFound "command not found: foo"; PermissionDenied if the file found may
// not be run. A name with a slash is taken as it is, relative to `workdir`.
absl::StatusOr<std::string> FindProgram(const LaunchRequest& request);

struct AdoptRequest {
  ProcessId keeper;
  pid_t leader = 0;
  // Of the attempt, for the exit record.
  std::string folder;
};

// nullopt if there is no such process.
std::optional<ProcessId> FindProcessId(pid_t pid);

class Process {
 public:
  struct Callbacks {
    std::function<void()> on_forked = [] {};  // pid() is known from now on
    std::function<void()> on_started = [] {};
    std::function<void(std::string)> on_failed = [](const std::string&) {};
    // nullopt: the keeper was killed, and nobody knows.
    std::function<void(std::optional<ProcessExit>)> on_exited;
  };

  // `loop` outlives the process. Callbacks come from the loop, never from inside Launch or Adopt,
  // and may destroy the Process only in on_exited.
  static absl::StatusOr<std::unique_ptr<Process>> Launch(EventLoop& loop,
                                                         const LaunchRequest& request,
                                                         Callbacks callbacks);
  // NotFound if the keeper is gone: then the exit record tells, or nobody knows.
  static absl::StatusOr<std::unique_ptr<Process>> Adopt(EventLoop& loop,
                                                        const AdoptRequest& request,
                                                        Callbacks callbacks);
  // Kills what still runs, and waits for it for a moment only.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // Leaves it to the next agentd.
  void Release() { is_over_ = true; }

  const ProcessId& keeper() const { return keeper_; }
  // The leader; 0 until on_forked.
  pid_t pid() const { return pid_; }
  // Takes the news that have come, without waiting for the loop to turn.
  void CatchUp() { ReadStartNews(); }
  // To the leader's whole group. Before on_forked only SIGKILL has an effect. Nothing happens after
  // on_exited.
  void SignalGroup(int signal);

 private:
  Process(EventLoop& loop, Callbacks callbacks) : loop_(loop), callbacks_(std::move(callbacks)) {}

  absl::Status Start(const LaunchRequest& request, const std::string& program);
  absl::Status Watch(pid_t keeper);
  void ReadStartNews();
  void EndStartNews();
  std::string DescribeStep(StartStep step) const;
  void OnKeeperGone();

  EventLoop& loop_;
  Callbacks callbacks_;
  ProcessId keeper_;
  pid_t pid_ = 0;
  bool is_over_ = false;
  std::string program_;
  std::string workdir_;
  std::string folder_;
  FileDescriptor keeper_descriptor_;
  FileDescriptor report_;  // of StartNews
  std::optional<EventLoop::WatchId> keeper_watch_;
  std::optional<EventLoop::WatchId> report_watch_;
};

}  // namespace pipefill

#endif  // AGENT_TASKS_LAUNCHER_H_
