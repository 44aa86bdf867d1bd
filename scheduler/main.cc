// schedulerd: accepts fill jobs, keeps them safe, and decides which one fills which device.
//
// Runs on the main thread.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <string>

#include "common/clock.h"
#include "common/config.h"
#include "common/exit_code.h"
#include "common/log.h"
#include "common/loop.h"
#include "common/status.h"
#include "common/version.h"
#include "scheduler/server.h"

namespace pipefill {
namespace {

struct Flags {
  std::string config;
  bool is_check = false;
};

int Fail(const absl::Status& status) {
  std::cerr << "schedulerd: " << status.message() << std::endl;
  return ExitCodeFor(status);
}

absl::Status Serve(const v1::SchedulerConfig& config) {
  RETURN_IF_ERROR(SetUpLog("schedulerd", config.log_level().empty() ? "info" : config.log_level()));
  // Before any thread is made: signals then come to this loop only.
  const std::unique_ptr<EventLoop> signals = EventLoop::Create();
  signals->OnTermination([&signals] { signals->Stop(); });
  ASSIGN_OR_RETURN(const std::unique_ptr<Server> server, Server::Create(config, {SystemClock()}));
  signals->Run();
  spdlog::info("stopping");
  server->Shutdown();
  return absl::OkStatus();
}

int Run(const Flags& flags) {
  v1::SchedulerConfig config;
  if (!flags.config.empty()) {
    const absl::Status read = ReadJsonFile(flags.config, &config);
    if (!read.ok()) return Fail(read);
  }
  const absl::Status checked = Server::CheckConfig(config);
  if (!checked.ok()) return Fail(checked);
  if (flags.is_check) {
    std::cout << "schedulerd: the configuration is good" << std::endl;
    return kExitOk;
  }
  const absl::Status served = Serve(config);
  return served.ok() ? kExitOk : Fail(served);
}

}  // namespace
}  // namespace pipefill

int main(int argc, char** argv) {
  pipefill::Flags flags;
  CLI::App app("pipefill's scheduler: accepts fill jobs and places them on devices with bubbles",
               "schedulerd");
  app.add_option("--config", flags.config, "configuration file (JSON); defaults without it");
  app.add_flag("--check", flags.is_check, "only check the configuration");
  app.set_version_flag("--version", std::string("schedulerd ") + pipefill::kVersion);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    std::cerr << "schedulerd: " << error.what() << "; see --help" << std::endl;
    return pipefill::kExitUsage;
  }
  return pipefill::Run(flags);
}
