// `pipefill jobs`: the list of jobs, newest first.
//
// Thread-compatible: runs on the thread of its command.
#ifndef CLI_JOBS_H_
#define CLI_JOBS_H_

#include "cli/command.h"

namespace pipefill {

// Jobs of all states; when it leaves some out it says so, and how to see them.
void AddJobsCommand(CLI::App& parent, CommandSet& commands);

}  // namespace pipefill

#endif  // CLI_JOBS_H_
