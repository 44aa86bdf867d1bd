// `pipefill cancel JOB...`: stops jobs.
//
// Thread-compatible: runs on the thread of its command.
#ifndef CLI_JOB_CANCEL_H_
#define CLI_JOB_CANCEL_H_

#include "cli/command.h"

namespace pipefill {

// Returns at once: a running job is over when its task has left. Of several jobs all are tried, and
// the last error counts.
void AddCancelCommand(CLI::App& parent, CommandSet& commands);

}  // namespace pipefill

#endif  // CLI_JOB_CANCEL_H_
