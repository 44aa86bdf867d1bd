// The mark of an attempt, by which its processes are found wherever they have moved to: fence and
// socket in their environment, handed down to all descendants. The socket tells the agents of
// several clusters on one node apart, whose fences may be equal.
//
// Thread-compatible; reads /proc.
#ifndef AGENT_TASKS_ATTEMPT_MARK_H_
#define AGENT_TASKS_ATTEMPT_MARK_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "agent/devices/process_stat.h"
#include "agent/tasks/attempt.h"

namespace pipefill {

struct AttemptMark {
  Fence fence;
  const std::string& socket;

  bool IsOn(pid_t pid) const;
};

// Kills what has the mark or is one of `others`; returns how many processes that were.
int KillMarked(const AttemptMark& mark, const std::vector<ProcessId>& others,
               const ProcessTable& everything);

}  // namespace pipefill

#endif  // AGENT_TASKS_ATTEMPT_MARK_H_
