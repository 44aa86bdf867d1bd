// `pipefill sim`: a scenario in virtual time, with the scheduler's own code.
//
// Thread-compatible: runs on the thread of its command.
#ifndef CLI_SIM_SIM_COMMAND_H_
#define CLI_SIM_SIM_COMMAND_H_

#include "cli/command.h"

namespace pipefill {

void AddSimCommand(CLI::App& parent, CommandSet& commands);

}  // namespace pipefill

#endif  // CLI_SIM_SIM_COMMAND_H_
