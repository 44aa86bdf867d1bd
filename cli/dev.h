// `pipefill dev --state DIR`: a whole cluster in one process, schedulerd and one agentd with CPU
// devices.
//
// Thread-compatible: runs on the thread of its command, until SIGINT or SIGTERM.
#ifndef CLI_DEV_H_
#define CLI_DEV_H_

#include "cli/command.h"

namespace pipefill {

// Writes DIR/address once both serve, and removes it when it stops. FailedPrecondition if DIR or
// the port is in use.
void AddDevCommand(CLI::App& parent, CommandSet& commands);

}  // namespace pipefill

#endif  // CLI_DEV_H_
