// How help texts of commands look.
//
// Pure.
#ifndef CLI_HELP_FORMAT_H_
#define CLI_HELP_FORMAT_H_

#include <CLI/CLI.hpp>
#include <string>

#include "cli/command.h"

namespace pipefill {

// Lines fit 80 columns as long as descriptions are at most 50 characters.
class HelpFormat : public CLI::Formatter {
 public:
  // `commands` outlives this.
  explicit HelpFormat(const CommandSet& commands);

  std::string make_usage(const CLI::App* app, std::string name) const override;
  // Leaves out "REQUIRED" and the like: usage says it.
  std::string make_option_opts(const CLI::Option* option) const override;

 private:
  const CommandSet& commands_;
};

// The help of `app`, a part of a parser with a HelpFormat.
std::string HelpText(const CLI::App& app);
// "pipefill job wait".
std::string FullName(const CLI::App& app);

}  // namespace pipefill

#endif  // CLI_HELP_FORMAT_H_
