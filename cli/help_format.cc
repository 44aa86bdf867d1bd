#include "cli/help_format.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace pipefill {
namespace {

constexpr size_t kFirstColumnWidth = 28;

}  // namespace

HelpFormat::HelpFormat(const CommandSet& commands) : commands_(commands) {
  column_width(kFirstColumnWidth);
  label("Positionals", "Arguments");
  label("SUBCOMMAND", "COMMAND");
}

std::string HelpFormat::make_usage(const CLI::App* app, std::string name) const {
  std::string usage = CLI::Formatter::make_usage(app, std::move(name));
  const Command* command = commands_.Find(*app);
  if (command == nullptr || !command->takes_tail) return usage;
  return absl::StrCat(absl::StripSuffix(usage, "\n"), " [-- PROGRAM ARGS...]\n");
}

std::string HelpFormat::make_option_opts(const CLI::Option* option) const {
  return option->get_type_name().empty() ? "" : absl::StrCat(" ", option->get_type_name());
}

std::string HelpText(const CLI::App& app) {
  std::string text =
      app.get_formatter()->make_help(&app, FullName(app), CLI::AppFormatMode::Normal);
  while (absl::EndsWith(text, "\n\n")) text.pop_back();
  return text;
}

std::string FullName(const CLI::App& app) {
  if (app.get_parent() == nullptr) return "pipefill";
  return absl::StrCat(FullName(*app.get_parent()), " ", app.get_name());
}

}  // namespace pipefill
