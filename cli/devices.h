// `pipefill devices`: the devices of all connected agents; and `pipefill status`: the state of
// schedulerd.
//
// Thread-compatible: runs on the thread of its command.
#ifndef CLI_DEVICES_H_
#define CLI_DEVICES_H_

#include "cli/command.h"

namespace pipefill {

void AddDevicesCommand(CLI::App& parent, CommandSet& commands);
void AddStatusCommand(CLI::App& parent, CommandSet& commands);

}  // namespace pipefill

#endif  // CLI_DEVICES_H_
