// `pipefill bubbles`: what is idle on which rank, and how much of it is filled.
//
// Thread-compatible: runs on the thread of its command.
#ifndef CLI_BUBBLES_H_
#define CLI_BUBBLES_H_

#include "cli/command.h"

namespace pipefill {

void AddBubblesCommand(CLI::App& parent, CommandSet& commands);

}  // namespace pipefill

#endif  // CLI_BUBBLES_H_
