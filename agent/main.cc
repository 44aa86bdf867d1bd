// agentd: learns the bubbles of this node's main jobs, and runs fill tasks in them.
//
// Runs on the main thread.
#include <functional>
#include <memory>

#include "agent/agent.h"
#include "common/clock.h"
#include "common/daemon.h"
#include "common/status.h"

int main(int argc, char** argv) {
  pipefill::v1::AgentConfig config;
  const pipefill::Daemon daemon = {
      .name = "agentd",
      .purpose = "pipefill's agent: fills the bubbles of this node's main jobs",
      .config_help = "configuration file (JSON); names at least one device",
      .config = &config,
      .check = [&] { return pipefill::Agent::CheckConfig(config); },
      .log_level = [&] { return config.log_level(); },
      .serve = [&](const std::function<void()>& wait) -> absl::Status {
        ASSIGN_OR_RETURN(const std::unique_ptr<pipefill::Agent> agent,
                         pipefill::Agent::Create(config, {pipefill::SystemClock()}));
        wait();
        agent->Shutdown();
        return absl::OkStatus();
      },
  };
  return pipefill::RunDaemon(daemon, argc, argv);
}
