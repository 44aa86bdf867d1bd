// `pipefill nodes`: the nodes whose agents are connected, and why some are given no jobs; and
// `pipefill tenants`: what tenants may have, and have.
//
// Thread-compatible: runs on the thread of its command.
#ifndef CLI_NODES_H_
#define CLI_NODES_H_

#include "cli/command.h"

namespace pipefill {

void AddNodesCommand(CLI::App& parent, CommandSet& commands);
void AddTenantsCommand(CLI::App& parent, CommandSet& commands);

}  // namespace pipefill

#endif  // CLI_NODES_H_
