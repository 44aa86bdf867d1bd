// Process jobs under a real agentd: whole programs that know nothing of bubbles, beside a main
// rank.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/agent.h"
#include "agent/testing/scripted_scheduler.h"
#include "common/clock.h"
#include "common/files.h"
#include "tests/integration/main_rank.h"

namespace pipefill {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class ProcessJobTest : public ::testing::Test {
 protected:
  void SetUp() override {
    // Short, for a socket's path is.
    folder_ = absl::StrCat("/tmp/pipefill_process_job.", getpid());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    scheduler_ = std::make_unique<ScriptedScheduler>(ScriptedScheduler::Options{});
    config_.set_node("node");
    config_.set_scheduler(scheduler_->address());
    config_.set_socket(folder_ + "/agentd.sock");
    config_.set_state_dir(folder_ + "/state");
    config_.set_processes_max(64);
    config_.set_process_gate(std::filesystem::absolute("client/process/pipefill-process").string());
    v1::DeviceConfig& device = *config_.add_devices();
    device.set_name("cpu0");
    device.set_cores("0");
    device.set_memory("1GiB");
    // A test must end on a busy machine too.
    device.set_priority("normal");
  }
  void TearDown() override {
    agent_.reset();
    std::filesystem::remove_all(folder_);
  }

  void StartAgent() {
    absl::StatusOr<std::unique_ptr<Agent>> agent = Agent::Create(config_, {SystemClock()});
    ASSERT_TRUE(agent.ok()) << agent.status();
    agent_ = *std::move(agent);
  }
  void StartRank() { rank_.emplace(MainRank::Options{.socket = config_.socket()}); }

  void Launch(const std::string& script, int64_t memory_bytes = int64_t{256} << 20) {
    v1::AgentCommand command;
    v1::LaunchAttempt& launch = *command.mutable_launch();
    *launch.mutable_key() = Key();
    launch.set_device("cpu0");
    launch.mutable_spec()->set_name("test");
    for (const char* word : {"sh", "-c", script.c_str()}) launch.mutable_spec()->add_command(word);
    (*launch.mutable_spec()->mutable_env())["AT"] = folder_;
    launch.mutable_spec()->set_memory_bytes(memory_bytes);
    launch.mutable_spec()->set_way(v1::FILL_WAY_PROCESS);
    scheduler_->Send(command);
  }
  void Cancel() {
    v1::AgentCommand stop;
    *stop.mutable_stop()->mutable_key() = Key();
    stop.mutable_stop()->set_cause(v1::END_CAUSE_CANCELLED);
    scheduler_->Send(stop);
  }
  static v1::AttemptKey Key() {
    v1::AttemptKey key;
    key.set_job_id(1);
    key.set_attempt(1);
    key.set_fence(100);
    return key;
  }

  v1::AttemptEnded WaitForEnd() {
    const auto message = scheduler_->WaitFor(
        [](const v1::AgentMessage& candidate) { return candidate.has_attempt_ended(); });
    EXPECT_TRUE(message.has_value());
    return message.value_or(v1::AgentMessage()).attempt_ended();
  }
  // A report from after this call for which `is_wanted` holds.
  template <typename Predicate>
  std::optional<v1::AgentReport> WaitForReport(const Predicate& is_wanted) {
    scheduler_->Forget();
    const auto message = scheduler_->WaitFor([&](const v1::AgentMessage& candidate) {
      return candidate.has_report() && candidate.report().progress_size() == 1 &&
             is_wanted(candidate.report());
    });
    return message.has_value() ? std::optional(message->report()) : std::nullopt;
  }
  bool WaitForUnits(int64_t units) {
    return WaitForReport([&](const v1::AgentReport& report) {
             return report.progress(0).progress().units() >= units;
           })
        .has_value();
  }
  std::string ContentOf(const std::string& name) const {
    return ReadFile(folder_ + "/" + name).value_or("");
  }

  std::string folder_;
  v1::AgentConfig config_;
  std::unique_ptr<ScriptedScheduler> scheduler_;
  std::unique_ptr<Agent> agent_;
  std::optional<MainRank> rank_;
};

TEST_F(ProcessJobTest, ProgramThatForksIsWorkedThroughInBubbles) {
  StartAgent();
  StartRank();
  Launch(
      "i=0; while [ $i -lt 200 ]; do i=$((i + 1)); (/bin/true); done; echo $i > $AT/count; exit 3");
  const v1::AttemptEnded end = WaitForEnd();
  EXPECT_EQ(end.cause(), v1::END_CAUSE_EXITED) << end.text();
  EXPECT_EQ(end.exit_code(), 3);
  EXPECT_EQ(ContentOf("count"), "200\n");
  const v1::FillProgress& progress = end.progress();
  EXPECT_GT(progress.units(), 10);
  EXPECT_GT(progress.unit_cpu_in_bubble_ns(), 0);
  EXPECT_NE(progress.stopped_by(), "");
  EXPECT_NE(progress.memory_guard(), "");
}

TEST_F(ProcessJobTest, ProgramDoesNothingWhileThereIsNoMainJob) {
  StartAgent();
  Launch("echo here > $AT/here");
  for (int i = 0; i < 2; ++i) {
    const auto report = WaitForReport([](const v1::AgentReport&) { return true; });
    ASSERT_TRUE(report.has_value());
    EXPECT_EQ(report->progress(0).progress().units(), 0);
  }
  EXPECT_EQ(ContentOf("here"), "");
  StartRank();
  EXPECT_EQ(WaitForEnd().exit_code(), 0);
  EXPECT_EQ(ContentOf("here"), "here\n");
}

TEST_F(ProcessJobTest, ProgramGoesOnUnderTheNextAgentd) {
  config_.set_keep_tasks_at_stop(true);
  StartAgent();
  StartRank();
  Launch("while [ ! -e $AT/go ]; do echo x >> $AT/count; done; exit 5");
  ASSERT_TRUE(WaitForUnits(5));
  agent_->Shutdown();
  agent_.reset();
  const size_t before = ContentOf("count").size();
  scheduler_->Forget();
  StartAgent();
  // The rank has found the next one, and so has the gate of the program.
  ASSERT_TRUE(WaitForReport([&](const v1::AgentReport&) {
                return ContentOf("count").size() > before;
              }).has_value());
  std::ofstream(folder_ + "/go") << "\n";
  const v1::AttemptEnded end = WaitForEnd();
  EXPECT_EQ(end.exit_code(), 5) << end.text();
  EXPECT_NE(end.progress().stopped_by(), "");
}

TEST_F(ProcessJobTest, CancelReachesTheProgram) {
  StartAgent();
  StartRank();
  Launch("trap 'echo bye > $AT/bye; exit 0' TERM; while :; do /bin/true; done");
  ASSERT_TRUE(WaitForUnits(5));
  Cancel();
  EXPECT_EQ(WaitForEnd().cause(), v1::END_CAUSE_CANCELLED);
  EXPECT_EQ(ContentOf("bye"), "bye\n");
}

TEST_F(ProcessJobTest, CommandThatDoesNotExistIsToldAsOfAnyJob) {
  StartAgent();
  v1::AgentCommand command;
  *command.mutable_launch()->mutable_key() = Key();
  command.mutable_launch()->set_device("cpu0");
  command.mutable_launch()->mutable_spec()->add_command("no-such-program");
  command.mutable_launch()->mutable_spec()->set_memory_bytes(1 << 28);
  command.mutable_launch()->mutable_spec()->set_way(v1::FILL_WAY_PROCESS);
  scheduler_->Send(command);
  const v1::AttemptEnded end = WaitForEnd();
  EXPECT_EQ(end.cause(), v1::END_CAUSE_LAUNCH_FAILED);
  EXPECT_EQ(end.text(), "command not found: no-such-program");
}

TEST_F(ProcessJobTest, ProgramThatWantsTooMuchMemoryEndsForThat) {
  StartAgent();
  StartRank();
  Launch("exec python3 -c 'held = []\nwhile True: held.append(b\"x\" * (1 << 20))'",
         int64_t{64} << 20);
  const v1::AttemptEnded end = WaitForEnd();
  EXPECT_EQ(end.cause(), v1::END_CAUSE_OUT_OF_MEMORY) << end.text();
  EXPECT_THAT(end.text(), StartsWith("out_of_memory (cap 64 MiB, peak "));
}

TEST_F(ProcessJobTest, MainRankGoesOnBesideAForkBomb) {
  StartAgent();
  StartRank();
  Launch(
      "exec python3 -c 'import os\n"
      "while True:\n"
      "  try: os.fork()\n"
      "  except OSError: pass'");
  const auto first = WaitForReport(
      [](const v1::AgentReport& report) { return report.progress(0).progress().units() >= 5; });
  ASSERT_TRUE(first.has_value());
  const int64_t iterations = first->devices(0).main_rank().iterations();
  EXPECT_TRUE(WaitForReport([&](const v1::AgentReport& report) {
                return report.devices(0).main_rank().iterations() >= iterations + 50;
              }).has_value());
  Cancel();
  EXPECT_EQ(WaitForEnd().cause(), v1::END_CAUSE_CANCELLED);
}

TEST_F(ProcessJobTest, NodeWithoutTheGateSaysWhatToDo) {
  config_.set_process_gate("/no/such/gate");
  StartAgent();
  Launch("exit 0");
  const v1::AttemptEnded end = WaitForEnd();
  // Counts against the node: another one may have the gate.
  EXPECT_EQ(end.cause(), v1::END_CAUSE_REFUSED);
  EXPECT_THAT(end.text(), HasSubstr("/no/such/gate"));
}

}  // namespace
}  // namespace pipefill
