// agentd: learns the bubbles of this node's main jobs, and runs fill tasks in them.
//
// Runs on the main thread.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <string>

#include "agent/agent.h"
#include "common/clock.h"
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

int Fail(const absl::Status& status) {
  std::cerr << "agentd: " << status.message() << std::endl;
  return ExitCodeFor(status);
}

absl::Status Serve(const v1::AgentConfig& config) {
  RETURN_IF_ERROR(SetUpLog("agentd", config.log_level().empty() ? "info" : config.log_level()));
  // Before any thread is made: signals then come to this loop only.
  const std::unique_ptr<EventLoop> signals = EventLoop::Create();
  signals->OnTermination([&signals] { signals->Stop(); });
  ASSIGN_OR_RETURN(const std::unique_ptr<Agent> agent, Agent::Create(config, {SystemClock()}));
  signals->Run();
  spdlog::info("agentd_stopping");
  agent->Shutdown();
  return absl::OkStatus();
}

int Run(const Flags& flags) {
  v1::AgentConfig config;
  if (!flags.config.empty()) {
    const absl::Status read = ReadJsonFile(flags.config, &config);
    if (!read.ok()) return Fail(read);
  }
  const absl::Status checked = Agent::CheckConfig(config);
  if (!checked.ok()) return Fail(checked);
  if (flags.is_check) {
    std::cout << "agentd: the configuration is good" << std::endl;
    return kExitOk;
  }
  const absl::Status served = Serve(config);
  return served.ok() ? kExitOk : Fail(served);
}

}  // namespace
}  // namespace pipefill

int main(int argc, char** argv) {
  pipefill::Flags flags;
  CLI::App app("pipefill's agent: fills the bubbles of this node's main jobs", "agentd");
  app.add_option("--config", flags.config, "configuration file (JSON); names at least one device");
  app.add_flag("--check", flags.is_check, "only check the configuration");
  app.set_version_flag("--version", std::string("agentd ") + pipefill::kVersion);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? pipefill::kExitOk : pipefill::kExitUsage;
  }
  return pipefill::Run(flags);
}
