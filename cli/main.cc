// The `pipefill` command.
#include <sys/ioctl.h>
#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "cli/command_line.h"
#include "cli/connection.h"
#include "cli/dev.h"
#include "cli/output.h"
#include "cli/plan/plan_command.h"
#include "cli/profile/profile_command.h"
#include "cli/report/report_command.h"
#include "cli/sim/sim_command.h"
#include "cli/top/top_command.h"
#include "common/clock.h"
#include "common/environment.h"

namespace pipefill {
namespace {

// Of the terminal that standard output is; 80 if it is none.
size_t Columns() {
  winsize size{};
  const bool is_terminal = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return is_terminal ? size.ws_col : kLineWidth;
}

std::vector<CommandEntry> AllCommands() {
  std::vector<CommandEntry> entries = {{AddDevCommand, "Start here"}};
  for (const CommandEntry& entry : BasicCommands()) entries.push_back(entry);
  entries.push_back({AddPlanCommand, "Start here"});
  entries.push_back({AddSimCommand, "Start here"});
  entries.push_back({AddProfileCommand, "Fill jobs"});
  entries.push_back({AddTopCommand, "Cluster"});
  entries.push_back({AddReportCommand, "Cluster"});
  return entries;
}

ExitCode Main(const std::vector<std::string>& words) {
  std::error_code no_folder;  // of a folder that was removed; relative paths then stay relative
  CommandContext context = {
      .in = std::cin,
      .out = std::cout,
      .err = std::cerr,
      .clock = SystemClock(),
      .pause = PauseOnLoop,
      .random = RandomShare,
      .connect =
          [](const std::string& address) {
            return Connect(address, isatty(STDERR_FILENO) != 0 ? &std::cerr : nullptr);
          },
      .connect_to_watch =
          [](const std::string& address) { return Connect(address, nullptr, kWatchTimeout); },
      .working_folder = std::filesystem::current_path(no_folder).string(),
      .scheduler = EnvironmentOr(kSchedulerVariable, kDefaultScheduler),
      .width = Columns(),
  };
  return RunCommandLine(words, AllCommands(), context);
}

}  // namespace
}  // namespace pipefill

int main(int argc, char** argv) { return pipefill::Main({argv + (argc > 0 ? 1 : 0), argv + argc}); }
