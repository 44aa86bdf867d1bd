// schedulerd: accepts fill jobs, keeps them safe, and decides which one fills which device.
//
// Runs on the main thread.
#include <functional>
#include <memory>

#include "common/clock.h"
#include "common/daemon.h"
#include "common/status.h"
#include "scheduler/server.h"
#include "scheduler/store_command.h"

int main(int argc, char** argv) {
  if (pipefill::scheduler::IsStoreCommand(argc, argv)) {
    return pipefill::scheduler::RunStoreCommand(argc, argv);
  }
  pipefill::v1::SchedulerConfig config;
  const pipefill::Daemon daemon = {
      .name = "schedulerd",
      .purpose =
          "pipefill's scheduler: accepts fill jobs and places them on devices with bubbles\n"
          "'schedulerd check', 'repair' and 'restore' are for its state; see their --help",
      .config_help = "configuration file (JSON); defaults without it",
      .config = &config,
      .check = [&] { return pipefill::Server::CheckConfig(config); },
      .log_level = [&] { return config.log_level(); },
      .serve = [&](const std::function<void()>& wait) -> absl::Status {
        ASSIGN_OR_RETURN(const std::unique_ptr<pipefill::Server> server,
                         pipefill::Server::Create(config, {pipefill::SystemClock()}));
        wait();
        server->Shutdown();
        return absl::OkStatus();
      },
  };
  return pipefill::RunDaemon(daemon, argc, argv);
}
