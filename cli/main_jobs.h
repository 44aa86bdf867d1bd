// `pipefill main`: main jobs, how filling them goes, and the verbs that change it.
//
// Thread-compatible: runs on the thread of its command.
#ifndef CLI_MAIN_JOBS_H_
#define CLI_MAIN_JOBS_H_

#include "cli/command.h"

namespace pipefill {

// Without a verb it lists all main jobs that have a rank attached, or for which something is set.
void AddMainGroup(CLI::App& parent, CommandSet& commands);

}  // namespace pipefill

#endif  // CLI_MAIN_JOBS_H_
