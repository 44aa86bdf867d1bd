#include "cli/top/top_command.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/top/terminal.h"
#include "cli/top/top_session.h"
#include "common/status.h"

namespace pipefill {
namespace {

// How long a plain frame looks: shares need two answers some time apart.
constexpr absl::Duration kOnceSpan = absl::Seconds(3);

absl::StatusOr<ExitCode> RunOnce(SchedulerClient& client, CommandContext& context) {
  TopModel model;
  ASSIGN_OR_RETURN(TopAnswers first, FetchTopAnswers(client));
  model.Add(std::move(first), context.clock.Now());
  context.pause(kOnceSpan);
  ASSIGN_OR_RETURN(TopAnswers second, FetchTopAnswers(client));
  model.Add(std::move(second), context.clock.Now());
  TopView view;
  view.scheduler = context.scheduler;
  view.width = context.width;
  context.out << PlainText(MakeTopFrame(model, view));
  return kExitOk;
}

absl::StatusOr<ExitCode> RunTop(bool is_once, CommandContext& context) {
  ASSIGN_OR_RETURN(const auto client, context.connect_to_watch(context.scheduler));
  if (is_once) return RunOnce(*client, context);
  const std::unique_ptr<Terminal> terminal = TakeTerminal();
  if (terminal == nullptr) return RunOnce(*client, context);
  TopSession(context.scheduler, *client, *terminal, context.clock).Run();
  return kExitOk;
}

}  // namespace

void AddTopCommand(CLI::App& parent, CommandSet& commands) {
  auto is_once = std::make_shared<bool>(false);
  CLI::App* command = parent.add_subcommand("top", "Live: what is idle, filled, and what it costs");
  command->add_flag("--once", *is_once, "Look for three seconds, print that, and leave");
  command->footer(
      "Keys: q quit, up and down select a main job, p pause it or resume it, h help.\n"
      "Without a terminal it does what --once does.");
  commands.Add({command, [is_once](CommandContext& context) { return RunTop(*is_once, context); }});
}

}  // namespace pipefill
