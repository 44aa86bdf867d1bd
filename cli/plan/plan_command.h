// `pipefill plan`: what is idle in a training run, and what filling it would bring, before anything
// is deployed.
//
// Thread-compatible: runs on the thread of its command.
#ifndef CLI_PLAN_PLAN_COMMAND_H_
#define CLI_PLAN_PLAN_COMMAND_H_

#include "cli/command.h"

namespace pipefill {

void AddPlanCommand(CLI::App& parent, CommandSet& commands);

}  // namespace pipefill

#endif  // CLI_PLAN_PLAN_COMMAND_H_
