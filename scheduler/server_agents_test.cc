// Streams of agents, to the whole server over gRPC.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <string>

#include "scheduler/testing/scripted_agent.h"
#include "scheduler/testing/server_fixture.h"

namespace pipefill::scheduler {
namespace {

using testing::HasSubstr;

TEST_F(ServerTest, SecondAgentOfTheSameNameIsRefused) {
  ScriptedAgent first(server_->address(), {});
  ASSERT_TRUE(first.Settle());
  ScriptedAgent::Options options;
  options.boot_id = "boot-2";
  ScriptedAgent second(server_->address(), options);
  const grpc::Status status = second.WaitForEnd();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(), HasSubstr("another agent with the node name a"));
  EXPECT_TRUE(first.Settle());
}

TEST_F(ServerTest, NewStreamOfTheSameAgentEndsTheOld) {
  ScriptedAgent first(server_->address(), {});
  ASSERT_TRUE(first.Settle());
  ScriptedAgent second(server_->address(), {});
  EXPECT_EQ(first.WaitForEnd().error_code(), grpc::StatusCode::ABORTED);
  EXPECT_TRUE(second.Settle());
}

TEST_F(ServerTest, RestartedAgentTakesItsNameOnceItsStreamIsBroken) {
  {
    ScriptedAgent first(server_->address(), {});
    ASSERT_TRUE(first.Settle());
  }
  ScriptedAgent::Options options;
  options.boot_id = "boot-2";
  // The server may hear of the broken stream after the new hello: agents dial again then.
  bool is_in = false;
  while (!is_in) {
    ScriptedAgent second(server_->address(), options);
    is_in = second.Settle();
  }
}

TEST_F(ServerTest, CommandsSayWhatWasHeardOfTheAgentLast) {
  ScriptedAgent agent(server_->address(), {});
  const auto heard_after = [&](const v1::AgentMessage& message) {
    agent.Send(message);
    agent.SendExited(v1::AttemptKey(), 0);
    return agent.NextCommand()->heard_sent_ns();
  };
  v1::AgentMessage report;
  report.mutable_report();
  report.set_sent_ns(17);
  EXPECT_EQ(heard_after(report), 17);
  v1::AgentMessage started;
  started.mutable_attempt_ended();
  started.set_sent_ns(18);
  EXPECT_EQ(heard_after(started), 17) << "the node does not count as heard by it";
}

TEST_F(ServerTest, AgentWithAllAttemptsStaleIsToldOfEach) {
  constexpr int kAttempts = 4096;
  ScriptedAgent::Options options;
  for (int i = 1; i <= kAttempts; ++i) {
    v1::AttemptKey& key = options.live_attempts.emplace_back();
    key.set_job_id(i);
    key.set_attempt(1);
    key.set_fence(static_cast<uint64_t>(i));
  }
  ScriptedAgent agent(server_->address(), options);
  for (int i = 1; i <= kAttempts; ++i) {
    const auto command = agent.NextCommand();
    ASSERT_TRUE(command.has_value()) << "the stream ended after " << i << " commands";
    EXPECT_EQ(command->stop().key().job_id(), i);
  }
  EXPECT_TRUE(agent.Settle());
}

TEST_F(ServerTest, BadHelloEndsTheStreamWithTheField) {
  ScriptedAgent::Options options;
  options.node = "not a name";
  ScriptedAgent agent(server_->address(), options);
  const grpc::Status status = agent.WaitForEnd();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("node: "));
}

}  // namespace
}  // namespace pipefill::scheduler
