// A real schedulerd and a real agentd.
//
// Thread-compatible.
#ifndef TESTS_INTEGRATION_CLUSTER_FIXTURE_H_
#define TESTS_INTEGRATION_CLUSTER_FIXTURE_H_

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>

#include "agent/agent.h"
#include "client/submit/scheduler_client.h"
#include "common/clock.h"
#include "common/environment.h"
#include "scheduler/server.h"
#include "tests/integration/daemons.h"

namespace pipefill {

class ClusterFixture : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(folder_);
    scheduler_config_.set_listen("127.0.0.1:0");
    scheduler_config_.set_state_dir(folder_ + "/schedulerd");
    StartScheduler();
    agent_config_ = NodeConfig(folder_, server_->address());
  }
  void TearDown() override {
    agent_.reset();
    server_.reset();
    std::filesystem::remove_all(folder_);
  }

  void StartScheduler() {
    absl::StatusOr<std::unique_ptr<Server>> server =
        Server::Create(scheduler_config_, {SystemClock()});
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    scheduler_config_.set_listen(server_->address());  // the same after a restart
    client_ = *NewSchedulerClient({.address = server_->address(), .call_timeout = kPatience},
                                  {.clock = SystemClock(),
                                   .pause = Pause,
                                   .random = [] { return 0.5; },
                                   .new_key = RandomToken});
  }
  void StartAgent() {
    absl::StatusOr<std::unique_ptr<Agent>> agent = Agent::Create(agent_config_, {SystemClock()});
    ASSERT_TRUE(agent.ok()) << agent.status();
    agent_ = *std::move(agent);
  }

  const std::string folder_ = TestFolder();
  v1::SchedulerConfig scheduler_config_;
  v1::AgentConfig agent_config_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<SchedulerClient> client_;
  std::unique_ptr<Agent> agent_;
};

}  // namespace pipefill

#endif  // TESTS_INTEGRATION_CLUSTER_FIXTURE_H_
