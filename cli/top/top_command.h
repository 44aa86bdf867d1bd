// `pipefill top`: what is idle, filled and paid, live.
//
// Thread-compatible: runs on the thread of its command.
#ifndef CLI_TOP_TOP_COMMAND_H_
#define CLI_TOP_TOP_COMMAND_H_

#include "cli/command.h"

namespace pipefill {

void AddTopCommand(CLI::App& parent, CommandSet& commands);

}  // namespace pipefill

#endif  // CLI_TOP_TOP_COMMAND_H_
