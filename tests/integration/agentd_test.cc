// The life of agentd: its stream, its tasks, its logs, and what it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/types.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>

#include "agent/agent.h"
#include "agent/devices/process_stat.h"
#include "tests/integration/agentd_fixture.h"
#include "tests/integration/main_rank.h"

namespace pipefill {
namespace {

using ::testing::HasSubstr;

class AgentdTest : public AgentdFixture {};

TEST_F(AgentdTest, SaysHelloWithItsDevices) {
  StartAgent();
  const auto hello =
      scheduler_->WaitFor([](const v1::AgentMessage& message) { return message.has_hello(); });
  ASSERT_TRUE(hello.has_value());
  EXPECT_EQ(hello->hello().node(), "node");
  EXPECT_FALSE(hello->hello().boot_id().empty());
  ASSERT_EQ(hello->hello().devices_size(), 1);
  EXPECT_EQ(hello->hello().devices(0).name(), "cpu0");
  EXPECT_EQ(hello->hello().devices(0).memory_bytes(), int64_t{1} << 30);
  EXPECT_FALSE(hello->hello().devices(0).has_main_rank());
}

TEST_F(AgentdTest, RunsTaskAndTellsItsEndUntilItIsAcknowledged) {
  StartAgent();
  Launch(1, {"sh", "-c", "echo hello; exit 3"});
  EXPECT_GT(WaitForStart(1).value_or(v1::AttemptStarted()).pid(), 0);
  const v1::AttemptEnded end = WaitForEnd(1);
  EXPECT_EQ(end.cause(), v1::END_CAUSE_EXITED);
  EXPECT_EQ(end.exit_code(), 3);

  // Told again, with the reports, as long as nobody acknowledges.
  scheduler_->Forget();
  WaitForEnd(1);
  Acknowledge(1);
  const v1::ContentReply log = ReadStdout(1);
  EXPECT_EQ(log.content().data(), "hello\n");
  EXPECT_TRUE(log.content().at_end());
  EXPECT_TRUE(log.content().final());
  // The answer came after the acknowledgement: nothing about job 1 follows the next reports.
  scheduler_->Forget();
  const auto is_report = [](const v1::AgentMessage& message) { return message.has_report(); };
  ASSERT_TRUE(scheduler_->WaitFor(is_report).has_value());
  EXPECT_EQ(scheduler_->Count([](const v1::AgentMessage& m) { return m.has_attempt_ended(); }), 0u);
}

TEST_F(AgentdTest, NamesCommandThatDoesNotExist) {
  StartAgent();
  Launch(1, {"no-such-program"});
  const v1::AttemptEnded end = WaitForEnd(1);
  EXPECT_EQ(end.cause(), v1::END_CAUSE_LAUNCH_FAILED);
  EXPECT_EQ(end.text(), "command not found: no-such-program");
}

TEST_F(AgentdTest, EndsTaskThatGrowsOverItsCap) {
  StartAgent();
  Launch(1, {"python3", "-c", "held = []\nwhile True: held.append(bytearray(4 << 20))"},
         int64_t{64} << 20);
  const v1::AttemptEnded end = WaitForEnd(1);
  EXPECT_EQ(end.cause(), v1::END_CAUSE_OUT_OF_MEMORY);
  EXPECT_THAT(end.text(), HasSubstr("out_of_memory (cap 64 MiB, peak "));
  // To the page where the kernel keeps the cap, above it where agentd looks.
  EXPECT_GT(end.progress().memory_peak_bytes(), int64_t{63} << 20);
  EXPECT_NE(end.progress().memory_guard(), "");
}

TEST_F(AgentdTest, CancelledTaskIsAskedToStopAndReportedAsCancelled) {
  StartAgent();
  Launch(1, {"sh", "-c", "trap 'exit 0' TERM; while :; do sleep 0.01; done"});
  ASSERT_TRUE(WaitForStart(1).has_value());
  Stop(1, v1::END_CAUSE_CANCELLED);
  EXPECT_EQ(WaitForEnd(1).cause(), v1::END_CAUSE_CANCELLED);
}

TEST_F(AgentdTest, AnswersStopOfAnAttemptItDoesNotHave) {
  StartAgent();
  Stop(9, v1::END_CAUSE_CANCELLED);
  EXPECT_EQ(WaitForEnd(9).cause(), v1::END_CAUSE_CANCELLED);
}

TEST_F(AgentdTest, SecondRankOnADeviceAndUnknownDeviceAreRefusedWithOneLine) {
  StartAgent();
  const MainRank rank({.socket = config_.socket()});
  const MainRank second({.socket = config_.socket()});
  EXPECT_EQ(second.code(), PF_REFUSED);
  EXPECT_THAT(second.error(), HasSubstr("device cpu0 has rank 0 of gpt"));
  const MainRank lost({.socket = config_.socket(), .device = "cpu7"});
  EXPECT_EQ(lost.code(), PF_REFUSED);
  EXPECT_THAT(lost.error(), HasSubstr("cpu7"));
}

TEST_F(AgentdTest, KeepsItsTasksAndRegistersAgainWhenSchedulerdRestarts) {
  StartAgent();
  Launch(1, {"sleep", "600"});
  ASSERT_TRUE(WaitForStart(1).has_value());
  const auto is_hello = [](const v1::AgentMessage& message) { return message.has_hello(); };
  const std::string boot_id = scheduler_->WaitFor(is_hello)->hello().boot_id();
  const int port = scheduler_->port();
  scheduler_.reset();
  scheduler_ = std::make_unique<ScriptedScheduler>(ScriptedScheduler::Options{.port = port});
  const auto hello = scheduler_->WaitFor(is_hello);
  ASSERT_TRUE(hello.has_value());
  EXPECT_EQ(hello->hello().boot_id(), boot_id);
  ASSERT_EQ(hello->hello().live_attempts_size(), 1);
  EXPECT_EQ(hello->hello().live_attempts(0).job_id(), 1);
  // It does not want the attempt any more.
  Stop(1, v1::END_CAUSE_LOST);
  EXPECT_EQ(WaitForEnd(1).cause(), v1::END_CAUSE_LOST);
}

TEST_F(AgentdTest, EndThatSchedulerdMissedIsToldWhenItIsBack) {
  StartAgent();
  Launch(1, {"sh", "-c", "read line < go"});
  ASSERT_TRUE(WaitForStart(1).has_value());
  const int port = scheduler_->port();
  scheduler_.reset();
  // A pipe in its folder that it waits for.
  const std::string go = folder_ + "/agentd/attempts/1.1/work/go";
  std::ofstream(go + ".new") << "x\n";
  std::filesystem::rename(go + ".new", go);
  scheduler_ = std::make_unique<ScriptedScheduler>(ScriptedScheduler::Options{.port = port});
  EXPECT_EQ(WaitForEnd(1).cause(), v1::END_CAUSE_EXITED);
}

TEST_F(AgentdTest, NewerAttemptOfAJobEndsTheOlderOne) {
  StartAgent();
  Launch(1, {"sleep", "600"});
  ASSERT_TRUE(WaitForStart(1).has_value());
  v1::AgentCommand launch;
  *launch.mutable_launch()->mutable_key() = KeyOf(1, 101);
  launch.mutable_launch()->mutable_key()->set_attempt(2);
  launch.mutable_launch()->set_device("cpu0");
  launch.mutable_launch()->mutable_spec()->add_command("true");
  launch.mutable_launch()->mutable_spec()->set_memory_bytes(1 << 28);
  scheduler_->Send(launch);
  const auto newer = scheduler_->WaitFor([](const v1::AgentMessage& message) {
    return message.has_attempt_ended() && message.attempt_ended().key().fence() == 101;
  });
  ASSERT_TRUE(newer.has_value());
  EXPECT_EQ(newer->attempt_ended().exit_code(), 0);
  const auto older = scheduler_->WaitFor([](const v1::AgentMessage& message) {
    return message.has_attempt_ended() && message.attempt_ended().key().fence() == 100;
  });
  ASSERT_TRUE(older.has_value());
  EXPECT_EQ(older->attempt_ended().cause(), v1::END_CAUSE_LOST);
}

TEST_F(AgentdTest, ServesItsTraceInPieces) {
  StartAgent();
  const MainRank rank({.socket = config_.socket()});
  v1::ReadContentRequest request;
  request.set_kind(v1::CONTENT_KIND_TRACE);
  request.set_node("node");
  request.set_limit(10);
  const v1::ContentReply first = Read(request);
  EXPECT_EQ(first.error_code(), 0);
  EXPECT_EQ(first.content().data().size(), 10u);
  EXPECT_EQ(first.content().next_offset(), 10);
  request.set_offset(-1);
  EXPECT_NE(Read(request).error_code(), 0);
}

TEST_F(AgentdTest, RefusesLogsItDoesNotHave) {
  StartAgent();
  const v1::ContentReply reply = ReadStdout(77);
  EXPECT_EQ(reply.error_code(), static_cast<int>(absl::StatusCode::kNotFound));
  EXPECT_THAT(reply.error_text(), HasSubstr("job 77"));
}

TEST_F(AgentdTest, ShutdownStopsTasksReportsThemLostAndRemovesTheSocket) {
  StartAgent();
  Launch(1, {"sleep", "600"});
  const pid_t pid = static_cast<pid_t>(WaitForStart(1).value_or(v1::AttemptStarted()).pid());
  agent_->Shutdown();
  EXPECT_FALSE(ReadProcess(pid).has_value());
  const v1::AttemptEnded end = WaitForEnd(1);
  EXPECT_EQ(end.cause(), v1::END_CAUSE_LOST);
  EXPECT_EQ(end.text(), "agentd was stopped");
  agent_.reset();
  EXPECT_FALSE(std::filesystem::exists(config_.socket()));
}

TEST_F(AgentdTest, ServesMainJobsWithoutSchedulerd) {
  scheduler_.reset();
  StartAgent();
  const MainRank rank({.socket = config_.socket()});
  EXPECT_EQ(rank.code(), PF_OK) << rank.error();
}

TEST_F(AgentdTest, RefusesSocketAndStateFolderInUse) {
  StartAgent();
  v1::AgentConfig same_state = config_;
  EXPECT_EQ(Agent::Create(same_state, {SystemClock()}).status().code(),
            absl::StatusCode::kFailedPrecondition);
  v1::AgentConfig same_socket = config_;
  same_socket.set_state_dir(folder_ + "/state2");
  const absl::Status status = Agent::Create(same_socket, {SystemClock()}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("is in use by another agentd"));
}

TEST_F(AgentdTest, RefusesCoresThatDoNotExistAndFoldersThatCannotBeMade) {
  v1::AgentConfig cores = config_;
  cores.mutable_devices(0)->set_cores("0-4095");
  EXPECT_EQ(Agent::Create(cores, {SystemClock()}).status().code(),
            absl::StatusCode::kInvalidArgument);
  v1::AgentConfig state = config_;
  state.set_state_dir("/proc/pipefill");
  EXPECT_EQ(Agent::Create(state, {SystemClock()}).status().code(),
            absl::StatusCode::kPermissionDenied);
}

}  // namespace
}  // namespace pipefill
