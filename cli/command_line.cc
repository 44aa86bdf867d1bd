#include "cli/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "cli/admin.h"
#include "cli/bubbles.h"
#include "cli/devices.h"
#include "cli/help.h"
#include "cli/help_format.h"
#include "cli/job_control.h"
#include "cli/job_logs.h"
#include "cli/job_show.h"
#include "cli/job_wait.h"
#include "cli/jobs.h"
#include "cli/main_jobs.h"
#include "cli/main_settings.h"
#include "cli/nodes.h"
#include "cli/options.h"
#include "cli/submit.h"
#include "cli/watch.h"
#include "cli/why.h"
#include "common/status.h"
#include "common/version.h"

namespace pipefill {
namespace {

// Takes the words from `--` on out of `words`.
std::optional<std::vector<std::string>> SplitTail(std::vector<std::string>& words) {
  const auto dashes = std::find(words.begin(), words.end(), "--");
  if (dashes == words.end()) return std::nullopt;
  std::vector<std::string> tail(dashes + 1, words.end());
  words.erase(dashes, words.end());
  return tail;
}

// The innermost part of the parser that the words have reached.
const CLI::App& ReachedApp(const CLI::App& root) {
  const CLI::App* app = &root;
  while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
  return *app;
}

// Names that may stand after `app`: its options and those of the parts above, or its commands.
std::vector<std::string> KnownOptions(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* part = &app; part != nullptr; part = part->get_parent()) {
    for (const CLI::Option* option : part->get_options()) {
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
  }
  return names;
}

std::vector<std::string> KnownCommands(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return names;
}

// What is wrong with the words that no part of the parser knows; OK if there are none.
absl::Status CheckUnknownWords(const CLI::App& root) {
  const std::vector<std::string> words = root.remaining(/*recurse=*/true);
  if (words.empty()) return absl::OkStatus();
  const auto option = std::find_if(words.begin(), words.end(), [](const std::string& word) {
    return absl::StartsWith(word, "-");
  });
  const bool is_option = option != words.end();
  const std::string word = is_option ? option->substr(0, option->find('=')) : words.front();
  const CLI::App& app = ReachedApp(root);
  const bool is_command = !is_option && !KnownCommands(app).empty();
  const std::string suggestion = Suggest(word, is_option ? KnownOptions(app) : KnownCommands(app));
  std::string advice = absl::StrCat("see '", FullName(app), " --help'");
  if (!suggestion.empty()) advice = absl::StrCat("did you mean ", suggestion, "?");
  if (!is_option && suggestion.empty() && app.get_name() == "submit") {
    advice = "put the program and its arguments behind --";
  }
  return absl::InvalidArgumentError(absl::StrCat(is_option    ? "unknown option"
                                                 : is_command ? "unknown command"
                                                              : "unexpected word",
                                                 ": ", word, "; ", advice));
}

// What CLI11 says, in our form.
absl::Status UsageError(const CLI::App& root, const CLI::ParseError& error) {
  RETURN_IF_ERROR(CheckUnknownWords(root));
  std::string text = error.what();
  absl::StrReplaceAll({{": 1 required ", ": "}, {" missing", " is missing"}}, &text);
  if (text.size() > 1 && absl::ascii_islower(static_cast<unsigned char>(text[1]))) {
    text[0] = absl::ascii_tolower(static_cast<unsigned char>(text[0]));
  }
  if (!absl::StrContains(text, ';')) {
    absl::StrAppend(&text, "; see '", FullName(ReachedApp(root)), " --help'");
  }
  return absl::InvalidArgumentError(text);
}

absl::StatusOr<ExitCode> RunParsed(const CLI::App& root, const CommandSet& commands,
                                   CommandContext& context) {
  RETURN_IF_ERROR(CheckUnknownWords(root));
  const CLI::App& app = ReachedApp(root);
  const Command* command = commands.Find(app);
  if (command == nullptr) {
    context.err << HelpText(app);
    return kExitUsage;
  }
  if (context.tail.has_value() && !command->takes_tail) {
    return absl::InvalidArgumentError(
        absl::StrCat("unexpected --; only 'pipefill submit' and 'pipefill ",
                     "profile' run a program, see '", FullName(app), " --help'"));
  }
  return command->body(context);
}

// Parses and runs. CLI11 throws; nothing of that leaves this function.
absl::StatusOr<ExitCode> ParseAndRun(std::vector<std::string> words, CLI::App& root,
                                     const CommandSet& commands, CommandContext& context) {
  std::reverse(words.begin(), words.end());  // as CLI11 wants them
  try {
    root.parse(std::move(words));
  } catch (const CLI::CallForVersion&) {
    context.out << "pipefill " << kVersion << "\n";
    return kExitOk;
  } catch (const CLI::Success&) {
    context.out << HelpText(ReachedApp(root));
    return kExitOk;
  } catch (const CLI::ParseError& error) {
    return UsageError(root, error);
  }
  return RunParsed(root, commands, context);
}

void PrepareParts(CLI::App& app) {
  app.allow_extras();  // CheckUnknownWords says more than CLI11 would
  app.set_help_flag("-h,--help", "Print this");
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) {
    command->fallthrough();  // so that --scheduler may stand anywhere
    if (command->get_parent()->get_parent() != nullptr) command->group("Commands");
    PrepareParts(*command);
  }
}

void SetUpParser(const std::vector<CommandEntry>& entries, CommandContext& context, CLI::App& root,
                 CommandSet& commands) {
  root.formatter(std::make_shared<HelpFormat>(commands));
  root.add_option("--scheduler", context.scheduler,
                  absl::StrCat("schedulerd; default: ", context.scheduler))
      ->type_name("HOST:PORT");
  root.set_version_flag("--version", std::string(kVersion), "Print the version");
  root.require_subcommand(0, 1);
  for (const CommandEntry& entry : entries) {
    const size_t before = root.get_subcommands([](CLI::App*) { return true; }).size();
    entry.add(root, commands);
    const auto all = root.get_subcommands([](CLI::App*) { return true; });
    for (size_t i = before; i < all.size(); ++i) all[i]->group(entry.group);
  }
  PrepareParts(root);
  // After the commands, which would inherit it.
  root.footer(absl::StrCat("--scheduler goes with every command; its default comes from ",
                           kSchedulerVariable, ",\nif that is set. Exit codes: 'pipefill help ",
                           "exit-codes'."));
}

}  // namespace

const Command* CommandSet::Find(const CLI::App& app) const {
  for (const Command& command : commands_) {
    if (command.app == &app) return &command;
  }
  return nullptr;
}

std::vector<CommandEntry> BasicCommands() {
  static constexpr char kJobs[] = "Fill jobs";
  static constexpr char kMain[] = "Main jobs";
  static constexpr char kCluster[] = "Cluster";
  static constexpr char kOther[] = "Other";
  return {
      {AddSubmitCommand, kJobs},     {AddJobsCommand, kJobs},       {AddWhyCommand, kJobs},
      {AddWaitCommand, kJobs},       {AddWatchCommand, kJobs},      {AddLogsCommand, kJobs},
      {AddHoldCommand, kJobs},       {AddReleaseCommand, kJobs},    {AddRequeueCommand, kJobs},
      {AddCancelCommand, kJobs},     {AddJobGroup, kJobs},          {AddMainGroup, kMain},
      {AddPauseCommand, kMain},      {AddResumeCommand, kMain},     {AddNodesCommand, kCluster},
      {AddDevicesCommand, kCluster}, {AddBubblesCommand, kCluster}, {AddTenantsCommand, kCluster},
      {AddStatusCommand, kCluster},  {AddAdminGroup, kOther},       {AddHelpCommand, kOther},
      {AddVersionCommand, kOther}};
}

ExitCode RunCommandLine(const std::vector<std::string>& words,
                        const std::vector<CommandEntry>& entries, CommandContext& context) {
  std::vector<std::string> head = words;
  context.tail = SplitTail(head);
  CommandSet commands;
  CLI::App root("pipefill: work for the bubbles of pipeline-parallel training");
  SetUpParser(entries, context, root, commands);
  const absl::StatusOr<ExitCode> code = ParseAndRun(std::move(head), root, commands, context);
  context.out.flush();
  if (code.ok()) return *code;
  context.err << "pipefill: " << code.status().message() << std::endl;
  return ExitCodeFor(code.status());
}

}  // namespace pipefill
