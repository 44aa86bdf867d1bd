// `pipefill logs JOB`: what the attempts of a job have written, as bytes on `out`.
//
// Thread-compatible: runs on the thread of its command.
#ifndef CLI_JOB_LOGS_H_
#define CLI_JOB_LOGS_H_

#include "cli/command.h"

namespace pipefill {

// With `-f` it follows until the job is over and its log is at the end, from attempt to attempt; a
// mark on `err` says where the next one begins.
void AddLogsCommand(CLI::App& parent, CommandSet& commands);

}  // namespace pipefill

#endif  // CLI_JOB_LOGS_H_
