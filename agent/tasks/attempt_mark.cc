#include "agent/tasks/attempt_mark.h"

#include <sched.h>
#include <signal.h>
#include <sys/types.h>

#include <algorithm>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "client/pages/handshake.h"
#include "common/files.h"

namespace pipefill {
namespace {

// Of an environment that reads empty.
constexpr int kReadsMax = 200;
constexpr pid_t kKernelThreads = 2;  // their parent

bool HasVariable(const std::string& environment, absl::string_view name, absl::string_view value) {
  const absl::string_view end("\0", 1);
  return absl::StrContains(absl::StrCat(end, environment),
                           absl::StrCat(end, name, "=", value, end));
}

}  // namespace

bool AttemptMark::IsOn(pid_t pid) const {
  const std::string path = absl::StrCat("/proc/", pid, "/environ");
  absl::StatusOr<std::string> environment = ReadFile(path);
  // While a process changes its program (execve) its environment reads empty for a moment.
  for (int i = 0; i < kReadsMax && environment.ok() && environment->empty(); ++i) {
    sched_yield();
    environment = ReadFile(path);
  }
  return environment.ok() &&
         HasVariable(*environment, kFenceVariable, absl::StrCat(fence.value())) &&
         HasVariable(*environment, kSocketVariable, socket);
}

int KillMarked(const AttemptMark& mark, const std::vector<ProcessId>& others,
               const ProcessTable& everything) {
  const auto is_ours = [&](const ProcessStat& stat) {
    const ProcessId id = {.pid = stat.pid, .start_ticks = stat.start_ticks};
    if (std::find(others.begin(), others.end(), id) != others.end()) return true;
    return stat.parent != kKernelThreads && mark.IsOn(stat.pid);
  };
  int killed = 0;
  for (const auto& [pid, stat] : everything.processes()) {
    if (stat.state != 'Z' && is_ours(stat) && kill(pid, SIGKILL) == 0) ++killed;
  }
  return killed;
}

}  // namespace pipefill
