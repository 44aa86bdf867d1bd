// The processes that descend from one process, as /proc tells.
//
// They come and go, fork and change parents while this is read: one look may miss some. Two equal
// looks at which all of them stood still have missed none; see SignalHold.
//
// Thread-compatible.
#ifndef CLIENT_PROCESS_PROCESS_TREE_H_
#define CLIENT_PROCESS_PROCESS_TREE_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pipefill::sdk {

struct ProcessSight {
  pid_t pid = 0;
  // As in /proc/PID/stat: T = stopped, Z = ended, D = waits for a disk, ...; X = gone by now.
  char state = '?';
  // CPU time of its children that have ended and that it has waited for, to the tick (10 ms).
  uint64_t children_cpu_ns = 0;

  friend bool operator==(const ProcessSight& a, const ProcessSight& b) {
    return a.pid == b.pid && a.state == b.state;
  }
};

// Of a line of /proc/PID/stat; the program's name in it may hold anything. False if it is none.
bool ParseProcessSight(std::string_view text, ProcessSight* sight);

class ProcessTree {
 public:
  // More are not looked at: a runaway fork must not make a look endless.
  static constexpr size_t kProcessesMax = 4096;

  explicit ProcessTree(pid_t root, std::string proc_folder = "/proc")
      : root_(root), proc_folder_(std::move(proc_folder)) {}

  // All that descend from the root, without it, by pid.
  std::vector<ProcessSight> Look() const;

 private:
  std::vector<pid_t> ChildrenOf(pid_t pid) const;

  const pid_t root_;
  const std::string proc_folder_;
};

}  // namespace pipefill::sdk

#endif  // CLIENT_PROCESS_PROCESS_TREE_H_
