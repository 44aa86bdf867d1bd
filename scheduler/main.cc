// schedulerd: accepts fill jobs, keeps them safe, and decides which one fills which device.
//
// Runs on the main thread.
#include <sys/resource.h>

#include <functional>
#include <memory>

#include "common/clock.h"
#include "common/daemon.h"
#include "common/environment.h"
#include "common/status.h"
#include "scheduler/server.h"
#include "scheduler/store_command.h"

namespace {

// Every agent holds a socket: as many as this system allows, where the usual limit is 1,024.
void RaiseOpenFileLimit() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

int main(int argc, char** argv) {
  // gRPC would keep 8 KiB to read into for each connection, whatever server.cc says.
  pipefill::SetDefaultVariable("GRPC_EXPERIMENTS", "-tcp_read_chunks");
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
        RaiseOpenFileLimit();
        ASSIGN_OR_RETURN(const std::unique_ptr<pipefill::Server> server,
                         pipefill::Server::Create(config, {pipefill::SystemClock()}));
        wait();
        server->Shutdown();
        return absl::OkStatus();
      },
  };
  return pipefill::RunDaemon(daemon, argc, argv);
}
