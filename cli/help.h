// `pipefill help [COMMAND | exit-codes]` and `pipefill version`.
//
// Thread-compatible: runs on the thread of its command.
#ifndef CLI_HELP_H_
#define CLI_HELP_H_

#include "cli/command.h"

namespace pipefill {

// `parent` is the whole parser: its help is what is printed.
void AddHelpCommand(CLI::App& parent, CommandSet& commands);
void AddVersionCommand(CLI::App& parent, CommandSet& commands);

}  // namespace pipefill

#endif  // CLI_HELP_H_
