// `pipefill admin`: what the people do who run schedulerd.
//
// Thread-compatible.
#ifndef CLI_ADMIN_H_
#define CLI_ADMIN_H_

#include "cli/command.h"

namespace pipefill {

void AddAdminGroup(CLI::App& parent, CommandSet& commands);

}  // namespace pipefill

#endif  // CLI_ADMIN_H_
