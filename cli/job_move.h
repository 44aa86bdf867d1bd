// `pipefill job move JOB`: stops a running job where it is, and starts it on another device.
//
// Thread-compatible: runs on the thread of its command.
#ifndef CLI_JOB_MOVE_H_
#define CLI_JOB_MOVE_H_

#include "cli/command.h"

namespace pipefill {

// Returns at once: the job moves when its task has saved and left.
void AddMoveCommand(CLI::App& parent, CommandSet& commands);

}  // namespace pipefill

#endif  // CLI_JOB_MOVE_H_
