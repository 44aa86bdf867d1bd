#include "cli/help.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/help_format.h"
#include "cli/output.h"
#include "common/version.h"

namespace pipefill {
namespace {

constexpr char kExitCodesTopic[] = "exit-codes";

std::string ExitCodesText() {
  struct Row {
    ExitCode code;
    const char* meaning;
  };
  static constexpr Row kRows[] = {
      {kExitOk, "success; of 'wait': the job succeeded"},
      {kExitFailure, "any failure that is not named below"},
      {kExitUsage, "wrong use: a bad option, configuration or job file"},
      {kExitNotFound, "no such job, file or device"},
      {kExitDenied, "permission denied"},
      {kExitConflict, "already in use, key used for another job, wrong version, wrong state"},
      {kExitUnavailable, "schedulerd or an agent is away, or the result is unknown"},
      {kExitRefused, "refused by a limit or a policy; the job could never run"},
      {kExitJobFailed, "'wait': the job failed"},
      {kExitJobCancelled, "'wait': the job was cancelled"},
      {kExitJobLimit, "'wait': the job ran into its deadline or limit"},
      {kExitJobLost, "'wait': the job was lost with its node and not tried again"},
      {kExitTimedOut, "'wait': the job is not over yet"},
  };
  Table table({{"CODE", Align::kRight}, {"MEANING"}});
  for (const Row& row : kRows)
    table.AddRow({absl::StrCat(static_cast<int>(row.code)), row.meaning});
  return table.Text();
}

const CLI::App* FindCommand(const CLI::App& parent, const std::string& name) {
  const std::vector<const CLI::App*> found =
      parent.get_subcommands([&](const CLI::App* app) { return app->get_name() == name; });
  return found.empty() ? nullptr : found.front();
}

// The subcommand that `words` lead to, from the root.
absl::StatusOr<const CLI::App*> FindTopic(const CLI::App& root,
                                          const std::vector<std::string>& words) {
  const CLI::App* app = &root;
  for (const std::string& word : words) {
    const CLI::App* next = FindCommand(*app, word);
    if (next == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("no help on: ", absl::StrJoin(words, " "),
                                                     "; 'pipefill help' lists the commands"));
    }
    app = next;
  }
  return app;
}

absl::StatusOr<ExitCode> RunHelp(const CLI::App& root, const std::vector<std::string>& words,
                                 CommandContext& context) {
  if (words.size() == 1 && words[0] == kExitCodesTopic) {
    context.out << ExitCodesText();
    return kExitOk;
  }
  const absl::StatusOr<const CLI::App*> topic = FindTopic(root, words);
  if (!topic.ok()) return topic.status();
  context.out << HelpText(**topic);
  return kExitOk;
}

}  // namespace

void AddHelpCommand(CLI::App& parent, CommandSet& commands) {
  auto words = std::make_shared<std::vector<std::string>>();
  CLI::App* command = parent.add_subcommand("help", "Help on a command, or on exit-codes");
  command->add_option("TOPIC", *words, "A command, or exit-codes")->type_name("");
  const CLI::App* root = &parent;
  commands.Add({command, [root, words](CommandContext& context) {
                  return RunHelp(*root, *words, context);
                }});
}

void AddVersionCommand(CLI::App& parent, CommandSet& commands) {
  CLI::App* command = parent.add_subcommand("version", "Version of this program");
  commands.Add({command, [](CommandContext& context) {
                  context.out << "pipefill " << kVersion << "\n";
                  return kExitOk;
                }});
}

}  // namespace pipefill
