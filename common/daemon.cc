#include "common/daemon.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "absl/synchronization/mutex.h"
#include "common/config.h"
#include "common/exit_code.h"
#include "common/log.h"
#include "common/loop.h"
#include "common/status.h"
#include "common/version.h"

namespace pipefill {
namespace {

struct Flags {
  std::string config;
  bool is_check = false;
};

absl::Status Serve(const Daemon& daemon) {
  const std::string level = daemon.log_level();
  RETURN_IF_ERROR(SetUpLog(daemon.name, level.empty() ? "info" : level));
  const std::unique_ptr<EventLoop> signals = EventLoop::Create();
  signals->OnTermination([&signals] { signals->Stop(); });
  return daemon.serve([&] {
    signals->Run();
    spdlog::info("stopping");
  });
}

absl::Status Run(const Daemon& daemon, const Flags& flags) {
  if (!flags.config.empty()) RETURN_IF_ERROR(ReadJsonFile(flags.config, daemon.config));
  RETURN_IF_ERROR(daemon.check());
  if (!flags.is_check) return Serve(daemon);
  std::cout << daemon.name << ": the configuration is good" << std::endl;
  return absl::OkStatus();
}

}  // namespace

int RunDaemon(const Daemon& daemon, int argc, char** argv) {
  // Debian's abseil looks for deadlocks at each lock, gRPC's too, under one lock for all and in a
  // table that is made for few. That is for tests.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  Flags flags;
  CLI::App app(daemon.purpose, daemon.name);
  app.add_option("--config", flags.config, daemon.config_help)->type_name("FILE");
  app.add_flag("--check", flags.is_check, "only check the configuration");
  app.set_version_flag("--version", daemon.name + " " + kVersion);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    std::cerr << daemon.name << ": " << error.what() << "; see --help" << std::endl;
    return kExitUsage;
  }
  const absl::Status status = Run(daemon, flags);
  if (!status.ok()) std::cerr << daemon.name << ": " << status.message() << std::endl;
  return ExitCodeFor(status);
}

}  // namespace pipefill
