// `pipefill job show JOB`: everything about one job; and `pipefill job`, which groups the verbs of
// a job.
//
// Thread-compatible: runs on the thread of its command.
#ifndef CLI_JOB_SHOW_H_
#define CLI_JOB_SHOW_H_

#include "cli/command.h"

namespace pipefill {

void AddShowCommand(CLI::App& parent, CommandSet& commands);

// `job show | wait | logs | move | cancel`; wait, logs and cancel are also commands of their own.
void AddJobGroup(CLI::App& parent, CommandSet& commands);

}  // namespace pipefill

#endif  // CLI_JOB_SHOW_H_
