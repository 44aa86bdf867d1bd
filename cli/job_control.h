// `pipefill cancel|hold|release|requeue JOB...`, or with a filter in place of jobs: what users want
// of jobs that are not over.
//
// Thread-compatible: runs on the thread of its command.
#ifndef CLI_JOB_CONTROL_H_
#define CLI_JOB_CONTROL_H_

#include "cli/command.h"

namespace pipefill {

// All return at once: an attempt that is stopped has ended when its task has left. Of several jobs
// all are tried, in one transaction, and the last error counts.
void AddCancelCommand(CLI::App& parent, CommandSet& commands);
void AddHoldCommand(CLI::App& parent, CommandSet& commands);
void AddReleaseCommand(CLI::App& parent, CommandSet& commands);
void AddRequeueCommand(CLI::App& parent, CommandSet& commands);

}  // namespace pipefill

#endif  // CLI_JOB_CONTROL_H_
