// Parses the words of a command line, runs the command they name, and turns its result into an exit
// code and, after an error, one line on `err`.
//
// Thread-compatible: one command runs, on the thread that started it.
#ifndef CLI_COMMAND_LINE_H_
#define CLI_COMMAND_LINE_H_

#include <string>
#include <vector>

#include "cli/command.h"
#include "common/exit_code.h"

namespace pipefill {

struct CommandEntry {
  CommandAdder add;
  const char* group;  // heading in the help
};

// All commands but those that bring whole components along (dev, report).
std::vector<CommandEntry> BasicCommands();

// `words` are those behind the program's name. Sets context.scheduler and context.tail.
ExitCode RunCommandLine(const std::vector<std::string>& words,
                        const std::vector<CommandEntry>& entries, CommandContext& context);

}  // namespace pipefill

#endif  // CLI_COMMAND_LINE_H_
