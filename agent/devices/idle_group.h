// Lets the main job's threads go before those of fill tasks, always. SCHED_IDLE alone does not:
//
//   the kernel shares a core between groups first and inside them later. A task in a session of its
//   own (autogroup) or in another control group than the main job competes with it as a group, half
//   and half, whatever its scheduling class. A rank that wakes up then waits for the rest of a
//   slice, 1-4 ms, before it gets its core back: measured as 9-11 % slowdown of a main job with 55
//   ms iterations, all of it in bubbles that end late, none of it seen as overrun.
//
// So the whole group of the tasks is made idle, with the first of these that is possible:
//   control group  `pipefill` at the root of the cpu controller (version 1 or 2), cpu.idle = 1 or,
//                  on kernels before 5.15, the smallest weight. Needs root. Shared by all agents of
//                  a node, left behind when they end: others may be in it. Under version 2 tasks
//                  go into `shared` in it, and from there into groups of their own.
//   autogroup      nice 19 for the task's session. Counts only as long as no control group of the
//   cpu
//                  controller holds main job or tasks.
//
// Thread-safe once made.
#ifndef AGENT_DEVICES_IDLE_GROUP_H_
#define AGENT_DEVICES_IDLE_GROUP_H_

#include <string>

#include "absl/strings/string_view.h"

namespace pipefill {

class IdleGroup {
 public:
  // No group: joining does nothing.
  IdleGroup() = default;

  // Makes the control group. `mounts`: text like that of /proc/mounts.
  static IdleGroup Make(absl::string_view mounts);

  // Moves the calling process, leader of its own session, into the group. For a child between fork
  // and exec: async-signal-safe, allocates nothing. 0, or an errno value.
  int JoinInChild() const noexcept;

  // Whether the main job goes first however groups are set up; not so with a session only.
  bool is_certain() const { return !procs_file_.empty(); }
  // For people: "idle group", "low-weight group", "idle session", "no idle group".
  const std::string& detail() const { return detail_; }

 private:
  std::string procs_file_;  // of the control group; empty = there is none
  bool has_session_ = false;
  std::string detail_ = "no idle group";
};

}  // namespace pipefill

#endif  // AGENT_DEVICES_IDLE_GROUP_H_
