// Starts a program as the leader of its own session and process group, tells when it has started or
// could not, and when it is gone.
//
//   Launch --> child made --> on_started                        --> on_exited, always last, once
//      |                 \--> on_failed("cannot run /x: ...")  --/
//      +-- error: nothing was started, e.g. "command not found: foo"
//
// The child has: the device's cores and scheduling class, stdin from /dev/null, stdout and stderr
// on the given descriptors, no other descriptor, default signal handling, the given environment and
// nothing of ours, and is the kernel's first choice when the node runs out of memory. Between fork
// and exec it makes async-signal-safe calls only.
//
// When the leader has ended, what is left of its group is killed before on_exited: a task ends as a
// whole.
//
// Runs on the agent loop.
#ifndef AGENT_TASKS_LAUNCHER_H_
#define AGENT_TASKS_LAUNCHER_H_

#include <sys/types.h>

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
  // Not owned; needed until Launch returns.
  int stdout_descriptor = -1;
  int stderr_descriptor = -1;
  // Where it runs; null = as agentd itself. Needed until Launch returns.
  const Device* device = nullptr;
};

// Where the program lies. NotFound "command not found: foo"; PermissionDenied if the file found may
// not be run. A name with a slash is taken as it is, relative to `workdir`.
absl::StatusOr<std::string> FindProgram(const LaunchRequest& request);

class Process {
 public:
  struct Callbacks {
    std::function<void()> on_started;
    std::function<void(std::string)> on_failed;
    std::function<void(ProcessExit)> on_exited;
  };

  // `loop` outlives the process. Callbacks come from the loop, never from inside Launch, and may
  // destroy the Process only in on_exited.
  static absl::StatusOr<std::unique_ptr<Process>> Launch(EventLoop& loop,
                                                         const LaunchRequest& request,
                                                         Callbacks callbacks);
  // Kills what still runs, and waits for it for a moment only.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  // To the whole group. Nothing happens once the leader was reaped.
  void SignalGroup(int signal);

 private:
  Process(EventLoop& loop, Callbacks callbacks) : loop_(loop), callbacks_(std::move(callbacks)) {}

  absl::Status Start(const LaunchRequest& request, const std::string& program);
  void ReadStartReport();
  std::string DescribeStep(int step) const;
  void OnLeaderGone();

  EventLoop& loop_;
  Callbacks callbacks_;
  pid_t pid_ = 0;
  bool is_reaped_ = false;
  std::string program_;
  std::string workdir_;
  FileDescriptor pid_descriptor_;
  // Closes when the program has started; carries a StartFailure if it could not.
  FileDescriptor report_;
  std::optional<EventLoop::WatchId> pid_watch_;
  std::optional<EventLoop::WatchId> report_watch_;
};

}  // namespace pipefill

#endif  // AGENT_TASKS_LAUNCHER_H_
