// `pipefill profile`: measures a fill job that has this machine to itself, and writes its profile.
//
// Thread-compatible: runs on the thread of its command.
#ifndef CLI_PROFILE_PROFILE_COMMAND_H_
#define CLI_PROFILE_PROFILE_COMMAND_H_

#include "cli/command.h"

namespace pipefill {

void AddProfileCommand(CLI::App& parent, CommandSet& commands);

}  // namespace pipefill

#endif  // CLI_PROFILE_PROFILE_COMMAND_H_
