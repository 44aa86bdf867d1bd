#include "cli/dev.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "agent/agent.h"
#include "cli/dev_config.h"
#include "cli/options.h"
#include "common/environment.h"
#include "common/files.h"
#include "common/log.h"
#include "common/loop.h"
#include "common/status.h"
#include "scheduler/server.h"

namespace pipefill {
namespace {

// The folder is ours until the returned descriptor closes.
absl::StatusOr<FileDescriptor> TakeFolder(const std::string& path) {
  RETURN_IF_ERROR(MakeWritableFolder(path));
  return LockFolder(path);
}

absl::Status ServeUntilTerminated(DevConfig config, const std::string& address_file,
                                  CommandContext& context) {
  const std::unique_ptr<EventLoop> loop = EventLoop::Create();
  // From here on a signal ends the loop, also one that comes before it runs.
  loop->OnTermination([&loop] { loop->Stop(); });
  ASSIGN_OR_RETURN(const std::unique_ptr<Server> server,
                   Server::Create(config.scheduler, {.clock = context.clock}));
  config.agent.set_scheduler(server->address());
  ASSIGN_OR_RETURN(const std::unique_ptr<Agent> agent,
                   Agent::Create(config.agent, {.clock = context.clock}));
  RETURN_IF_ERROR(WriteFileAtomically(address_file, server->address() + "\n"));
  context.out << DevWelcome(config, context.scheduler) << std::flush;
  loop->Run();
  context.err << "pipefill: stopping" << std::endl;
  unlink(address_file.c_str());
  agent->Shutdown();
  server->Shutdown();
  return absl::OkStatus();
}

// The Python package that was built beside this program; "" if it was not.
std::string PythonPathBeside() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path site = program.parent_path().parent_path() / "client/python/site";
  return std::filesystem::is_directory(site, error) ? site.string() : "";
}

absl::StatusOr<ExitCode> RunDev(DevOptions options, CommandContext& context) {
  if (options.python_path.empty()) options.python_path = PythonPathBeside();
  const std::filesystem::path folder =
      std::filesystem::path(context.working_folder) / options.state_folder;
  options.state_folder = folder.lexically_normal().string();
  ASSIGN_OR_RETURN(const DevConfig config, MakeDevConfig(options, AllowedCores()));
  const absl::Status log_status = SetUpLog("dev", options.log_level);
  if (!log_status.ok()) return WithContext(log_status, "--log-level");
  ASSIGN_OR_RETURN(const FileDescriptor lock, TakeFolder(options.state_folder));
  RETURN_IF_ERROR(
      ServeUntilTerminated(config, absl::StrCat(options.state_folder, "/address"), context));
  return kExitOk;
}

void AddOptions(CLI::App& command, DevOptions& options) {
  command.add_option("--state", options.state_folder, "Folder for all state; made if absent")
      ->required()
      ->type_name("DIR");
  command.add_option("--listen", options.listen, "Default: 127.0.0.1:7700; port 0: any free one")
      ->type_name("HOST:PORT");
  command.add_option("--cores", options.cores, "A device for each; default: the first two")
      ->type_name("LIST");
  command.add_option("--memory", options.memory, "Of each device, as 2GiB; default: its share")
      ->type_name("SIZE");
  AddNumberOption(command, {"--hold-out-block", "Iterations in a block; default: agentd's"},
                  &options.hold_out_block);
  AddNumberOption(command, {"--hold-out-one-in", "One block in N is not filled"},
                  &options.hold_out_one_in);
  command.add_option("--drain-period", options.drain_period, "How often pages are read, as 5ms")
      ->type_name("TIME");
  command
      .add_option("--python-path", options.python_path, "For 'import pipefill'; default: as built")
      ->type_name("DIR");
  command.add_option("--log-level", options.log_level, "error, warn, info or debug; default: warn")
      ->type_name("LEVEL");
}

}  // namespace

void AddDevCommand(CLI::App& parent, CommandSet& commands) {
  auto options = std::make_shared<DevOptions>();
  CLI::App* command = parent.add_subcommand("dev", "A whole cluster on this machine's cores");
  AddOptions(*command, *options);
  command->footer(
      "Runs until Ctrl-C. DIR/address names its schedulerd, DIR/agentd.sock is where training\n"
      "runs attach. State is kept: the same folder goes on where it stopped.");
  commands.Add({command, [options](CommandContext& context) { return RunDev(*options, context); }});
}

}  // namespace pipefill
