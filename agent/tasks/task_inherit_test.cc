// What an agentd takes over from the one before it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "agent/tasks/task_supervisor.h"
#include "agent/testing/supervisor_fixture.h"

namespace pipefill {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST_F(InheritTest, RunningTaskGoesOnAndItsRealEndIsReported) {
  LaunchBefore("while [ ! -e go ]; do sleep 0.01; done; echo done; exit 5");
  KillAgentd();
  EXPECT_THAT(Inherit(), IsEmpty());
  EXPECT_EQ(listener_.started_pid, leader_);
  EXPECT_EQ(supervisor_->PidOf(SpecFor({}).key), leader_);
  EXPECT_EQ(supervisor_->CapsOn("cpu0"), 256 * kMiB);
  EXPECT_EQ(supervisor_->Find(SpecFor({}).key)->job_name, "job");

  std::ofstream(state_dir_ + "/attempts/5.1/work/go") << "";
  ASSERT_TRUE(WaitForEnd());
  EXPECT_EQ(listener_.end->cause, EndCause::kExited);
  EXPECT_EQ(listener_.end->exit_code, 5);
  EXPECT_EQ(Log("stdout"), "ready\ndone\n");
}

TEST_F(InheritTest, TaskThatIsBeingStartedSurvivesTheEndOfItsAgentd) {
  runner_.Do([this] {
    former_.emplace(runner_.loop(), *folders_, Options(), former_listener_);
    former_->Launch(SpecFor({"sh", "-c", "echo ready; exit 6"}), device_);
    former_->Release();
    former_.reset();
  });
  EXPECT_TRUE(WaitForOutput("ready"));
  std::optional<ProcessExit> exit;
  ASSERT_TRUE(runner_.RunUntil([&] {
    exit = folders_->ReadExit(SpecFor({}).key);
    return exit.has_value();
  }));
  const std::vector<InheritedEnd> ended = Inherit();
  ASSERT_THAT(ended, SizeIs(1));
  EXPECT_EQ(ended[0].end.exit_code, 6);
}

TEST_F(InheritTest, TaskThatEndedMeanwhileIsReportedAsItEnded) {
  LaunchBefore("sleep 0.1; echo last; exit 6");
  KillAgentd();
  ASSERT_TRUE(runner_.RunUntil([this] { return folders_->ReadExit(SpecFor({}).key).has_value(); }));
  const std::vector<InheritedEnd> ended = Inherit();
  ASSERT_THAT(ended, SizeIs(1));
  EXPECT_EQ(ended[0].key, SpecFor({}).key);
  EXPECT_EQ(ended[0].end.cause, EndCause::kExited);
  EXPECT_EQ(ended[0].end.exit_code, 6);
  EXPECT_THAT(Log("stdout"), HasSubstr("last"));
  EXPECT_TRUE(supervisor_->is_empty());
}

TEST_F(InheritTest, EndThatWasNotAcknowledgedIsToldAgainUntilItsRecordGoes) {
  LaunchBefore("exit 7");
  ASSERT_TRUE(runner_.RunUntil([this] { return former_listener_.end.has_value(); }));
  KillAgentd();
  for (int i = 0; i < 2; ++i) {
    const std::vector<InheritedEnd> ended = Inherit();
    ASSERT_THAT(ended, SizeIs(1));
    EXPECT_EQ(ended[0].end.exit_code, 7);
  }
  folders_->RemoveRecord(SpecFor({}).key);
  EXPECT_THAT(Inherit(), IsEmpty());
}

TEST_F(InheritTest, FrozenTaskIsThawed) {
  // Not a child of the shell: stopped between its vfork and its exec it would keep the shell
  // waiting.
  LaunchBefore("exec sleep 60");
  runner_.Do([this] {
    former_->OnAttached(SpecFor({}).key);
    kill(-leader_, SIGSTOP);
  });
  ASSERT_TRUE(runner_.RunUntil([this] { return IsStopped(leader_); }));
  KillAgentd();
  EXPECT_THAT(Inherit(), IsEmpty());
  EXPECT_TRUE(runner_.RunUntil([this] { return !IsStopped(leader_); }));
  EXPECT_TRUE(IsAlive(leader_));
}

TEST_F(InheritTest, TaskThatWasBeingStoppedIsStoppedAndReportedAsAskedThen) {
  LaunchBefore("trap '' TERM; echo deaf; while :; do sleep 0.01; done");
  ASSERT_TRUE(WaitForOutput("deaf"));
  runner_.Do([this] {
    former_->Stop(
        SpecFor({}).key,
        {.cause = EndCause::kCancelled, .grace = absl::Hours(1), .text = "cancelled by the user"});
  });
  KillAgentd();
  EXPECT_THAT(Inherit(), IsEmpty());
  ASSERT_TRUE(WaitForEnd());
  EXPECT_EQ(listener_.end->cause, EndCause::kCancelled);
  EXPECT_EQ(listener_.end->text, "cancelled by the user");
}

TEST_F(InheritTest, AdoptedTaskIsHeldToItsMemoryCap) {
  LaunchBefore(
      "while [ ! -e go ]; do sleep 0.01; done; "
      "exec python3 -c 'x = bytearray(400 << 20); import time; time.sleep(60)'");
  KillAgentd();
  Inherit();
  std::ofstream(state_dir_ + "/attempts/5.1/work/go") << "";
  ASSERT_TRUE(WaitForEnd());
  EXPECT_EQ(listener_.end->cause, EndCause::kOutOfMemory);
}

TEST_F(InheritTest, TaskOfADeviceThatIsNoMoreIsKilledAndLost) {
  LaunchBefore("sleep 60");
  KillAgentd();
  const std::vector<InheritedEnd> ended = Inherit({"cpu1"});
  ASSERT_THAT(ended, SizeIs(1));
  EXPECT_EQ(ended[0].end.cause, EndCause::kLost);
  EXPECT_TRUE(runner_.RunUntil([this] { return !IsAlive(leader_); }));
}

TEST_F(InheritTest, RecordWithoutAProcessIsALoss) {
  runner_.Do([this] { ASSERT_TRUE(folders_->Create(SpecFor({}).key).ok()); });
  const AttemptRecord record = {.key = SpecFor({}).key,
                                .job_name = "job",
                                .device = "cpu0",
                                .memory_bytes = kMiB,
                                .boot_id = ReadBootId(),
                                // This process is alive, and is not the one that the record means.
                                .keeper = {.pid = getpid(), .start_ticks = 1},
                                .leader = {.pid = getpid(), .start_ticks = 1},
                                .stop = {},
                                .end = {}};
  ASSERT_TRUE(folders_->WriteRecord(record).ok());
  const std::vector<InheritedEnd> ended = Inherit();
  ASSERT_THAT(ended, SizeIs(1));
  EXPECT_EQ(ended[0].end.cause, EndCause::kLost);
  EXPECT_EQ(ended[0].end.text, "agentd was restarted without its tasks");
}

TEST_F(InheritTest, LeftOversOfALostTaskAreFoundByTheirMark) {
  LaunchBefore("setsid sleep 60 & echo $! > child; echo forked; wait");
  ASSERT_TRUE(WaitForOutput("forked"));
  std::ifstream file(state_dir_ + "/attempts/5.1/work/child");
  pid_t child = 0;
  ASSERT_TRUE(file >> child);
  const pid_t keeper = ReadProcess(leader_)->parent;
  KillAgentd();
  kill(keeper, SIGKILL);
  // It is this process's child.
  ASSERT_EQ(waitpid(keeper, nullptr, 0), keeper);
  const std::vector<InheritedEnd> ended = Inherit();
  ASSERT_THAT(ended, SizeIs(1));
  EXPECT_EQ(ended[0].end.cause, EndCause::kLost);
  EXPECT_TRUE(runner_.RunUntil([&] { return !IsAlive(child); }));
}

}  // namespace
}  // namespace pipefill
