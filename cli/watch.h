// `pipefill watch [JOB...]`: prints every change of jobs as it happens.
//
// Thread-compatible: runs on the thread of its command.
#ifndef CLI_WATCH_H_
#define CLI_WATCH_H_

#include "cli/command.h"

namespace pipefill {

// With jobs named it ends when all of them are over. Outlives a restart of schedulerd: what was
// missed is made good from the state, and a line on `err` says so.
void AddWatchCommand(CLI::App& parent, CommandSet& commands);

}  // namespace pipefill

#endif  // CLI_WATCH_H_
