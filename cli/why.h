// `pipefill why JOB`: why a job waits, and what would let it start.
//
// Thread-compatible: runs on the thread of its command.
#ifndef CLI_WHY_H_
#define CLI_WHY_H_

#include "cli/command.h"

namespace pipefill {

void AddWhyCommand(CLI::App& parent, CommandSet& commands);

}  // namespace pipefill

#endif  // CLI_WHY_H_
