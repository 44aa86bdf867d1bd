// What changes how a main job is filled, while it runs:
// `pipefill main set-budget | set-mode | set-rule MAIN VALUE`, `pipefill pause MAIN`, `resume
// MAIN`.
//
// Thread-compatible: runs on the thread of its command.
#ifndef CLI_MAIN_SETTINGS_H_
#define CLI_MAIN_SETTINGS_H_

#include "cli/command.h"

namespace pipefill {

// The verbs of `main`.
void AddMainSettings(CLI::App& main, CommandSet& commands);
void AddPauseCommand(CLI::App& parent, CommandSet& commands);
void AddResumeCommand(CLI::App& parent, CommandSet& commands);

}  // namespace pipefill

#endif  // CLI_MAIN_SETTINGS_H_
