// Paths that users name.
//
// Pure.
#ifndef CLI_PATHS_H_
#define CLI_PATHS_H_

#include <filesystem>
#include <string>

#include "cli/command.h"

namespace pipefill {

// `path` as it is meant where the command was given.
inline std::string PathOf(const std::string& path, const CommandContext& context) {
  return (std::filesystem::path(context.working_folder) / path).string();
}

}  // namespace pipefill

#endif  // CLI_PATHS_H_
