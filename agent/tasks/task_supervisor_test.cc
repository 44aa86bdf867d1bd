#include "agent/tasks/task_supervisor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "agent/testing/supervisor_fixture.h"

namespace pipefill {
namespace {

using ::testing::HasSubstr;

TEST_F(TaskSupervisorTest, RunsProgramKeepsItsOutputAndReportsItsExitCode) {
  Launch(SpecFor({"sh", "-c", "echo out; echo err >&2; exit 4"}));
  ASSERT_TRUE(WaitForEnd());
  EXPECT_EQ(listener_.end->cause, EndCause::kExited);
  EXPECT_EQ(listener_.end->exit_code, 4);
  EXPECT_NE(listener_.started_pid, 0);
  EXPECT_EQ(Log("stdout"), "out\n");
  EXPECT_EQ(Log("stderr"), "err\n");
  EXPECT_TRUE(supervisor_->is_empty());
}

TEST_F(TaskSupervisorTest, ReportsCommandThatDoesNotExistAsFailedLaunch) {
  Launch(SpecFor({"no-such-program"}));
  ASSERT_TRUE(WaitForEnd());
  EXPECT_EQ(listener_.end->cause, EndCause::kLaunchFailed);
  EXPECT_EQ(listener_.end->text, "command not found: no-such-program");
  EXPECT_EQ(listener_.started_pid, 0);
}

TEST_F(TaskSupervisorTest, ReportsAMissingProcessGateAsRefusedByTheNode) {
  AttemptSpec spec = SpecFor({"true"});
  spec.way = FillWay::kProcess;
  Launch(spec);
  ASSERT_TRUE(WaitForEnd());
  EXPECT_EQ(listener_.end->cause, EndCause::kRefused);
  EXPECT_EQ(listener_.end->text.find("this node cannot hold process jobs"), 0U);
}

TEST_F(TaskSupervisorTest, ReportsAFolderThatCannotBeMadeAsRefusedByTheNode) {
  // Whoever runs the test may be root, to whom permissions mean nothing.
  std::filesystem::remove_all(state_dir_);
  std::ofstream(state_dir_) << "a file";
  Launch(SpecFor({"true"}));
  ASSERT_TRUE(WaitForEnd());
  EXPECT_EQ(listener_.end->cause, EndCause::kRefused);
  EXPECT_NE(listener_.end->text, "");
  EXPECT_EQ(listener_.started_pid, 0);
  EXPECT_TRUE(supervisor_->is_empty());
}

TEST_F(TaskSupervisorTest, GivesTaskItsNamesItsPathsAndTheUsersVariables) {
  AttemptSpec spec = SpecFor({"sh", "-c", "env; pwd"});
  spec.env = {{"OMP_NUM_THREADS", "3"}, {"PYTHONPATH", "/home/user/lib"}};
  spec.config = R"({"batch_size":8})";
  Launch(spec);
  ASSERT_TRUE(WaitForEnd());
  for (const char* line :
       {"PIPEFILL_JOB=5\n", "PIPEFILL_ATTEMPT=1\n", "PIPEFILL_FENCE=77\n", "PIPEFILL_DEVICE=cpu0\n",
        "/socket\n", "PYTHONPATH=/opt/pipefill/python:/home/user/lib\n", "MKL_NUM_THREADS=1\n",
        "PIPEFILL_CONFIG={\"batch_size\":8}\n", "OMP_NUM_THREADS=3\n", "/attempts/5.1/work\n"}) {
    EXPECT_THAT(Log("stdout"), HasSubstr(line));
  }
}

TEST_F(TaskSupervisorTest, LaunchingTheSameAttemptAgainDoesNothing) {
  Launch(SpecFor({"sh", "-c", "echo once; sleep 60"}));
  ASSERT_TRUE(WaitForOutput("once"));
  const pid_t pid = listener_.started_pid;
  Launch(SpecFor({"sh", "-c", "echo twice"}));
  EXPECT_EQ(supervisor_->PidOf(SpecFor({}).key), pid);
  EXPECT_FALSE(std::filesystem::exists(state_dir_ + "/attempts/5.1.1"));
}

TEST_F(TaskSupervisorTest, StopLetsTheTaskSaveAndReportsTheAskedCause) {
  Launch(SpecFor(
      {"sh", "-c", "trap 'echo saved; exit 0' TERM; echo ready; while :; do sleep 0.01; done"}));
  ASSERT_TRUE(WaitForOutput("ready"));
  Stop(absl::Seconds(20));
  ASSERT_TRUE(WaitForEnd());
  EXPECT_EQ(listener_.end->cause, EndCause::kCancelled);
  EXPECT_EQ(listener_.end->text, "cancelled by the user");
  EXPECT_THAT(Log("stdout"), HasSubstr("saved"));
}

TEST_F(TaskSupervisorTest, StopKillsTaskThatIgnoresTermination) {
  Launch(SpecFor({"sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.01; done"}));
  ASSERT_TRUE(WaitForOutput("ready"));
  Stop(absl::Milliseconds(50));
  ASSERT_TRUE(WaitForEnd());
  EXPECT_EQ(listener_.end->signal, SIGKILL);
}

// So that it gets no gate then.
TEST_F(TaskSupervisorTest, TaskIsStoppingFromItsStopToItsEnd) {
  Launch(SpecFor({"sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.01; done"}));
  ASSERT_TRUE(WaitForOutput("ready"));
  const AttemptKey key = SpecFor({}).key;
  runner_.Do([&] { EXPECT_FALSE(supervisor_->IsStopping(key)); });
  Stop(absl::Seconds(20));
  runner_.Do([&] { EXPECT_TRUE(supervisor_->IsStopping(key)); });
  Stop(absl::ZeroDuration());
  ASSERT_TRUE(WaitForEnd());
  runner_.Do([&] { EXPECT_FALSE(supervisor_->IsStopping(key)); });
}

TEST_F(TaskSupervisorTest, AsksAttachedTaskOverItsConnectionFirst) {
  Launch(SpecFor({"sleep", "60"}));
  ASSERT_TRUE(runner_.RunUntil([this] { return listener_.started_pid != 0; }));
  runner_.Do([this] { supervisor_->OnAttached(SpecFor({}).key); });
  Stop(absl::Milliseconds(100));
  EXPECT_TRUE(listener_.is_asked_to_stop);
  ASSERT_TRUE(WaitForEnd());
  EXPECT_EQ(listener_.end->signal, SIGTERM);
}

TEST_F(TaskSupervisorTest, EndsChildrenThatMovedToASessionOfTheirOwn) {
  Launch(SpecFor({"sh", "-c", "setsid sleep 60 & echo $! > child; sleep 0.1; exit 0"}));
  ASSERT_TRUE(WaitForEnd());
  std::ifstream file(state_dir_ + "/attempts/5.1/work/child");
  pid_t child = 0;
  ASSERT_TRUE(file >> child);
  EXPECT_TRUE(runner_.RunUntil([child] {
    const std::optional<ProcessStat> stat = ReadProcess(child);
    return !stat.has_value() || stat->state == 'Z';
  }));
}

TEST_F(TaskSupervisorTest, TellsTaskWhereAndHowOftenItSaves) {
  SupervisorOptions options = Options();
  options.checkpoint_dir = "/shared";
  options.checkpoint_every_min = absl::Milliseconds(500);
  supervisor_.emplace(runner_.loop(), *folders_, options, listener_);
  AttemptSpec spec = SpecFor({"env"});
  spec.job_submitted_unix_ns = 123;
  spec.env = {{"PIPEFILL_CHECKPOINT_DIR", "/elsewhere"}};
  Launch(spec);
  ASSERT_TRUE(WaitForEnd());
  EXPECT_THAT(Log("stdout"), HasSubstr("PIPEFILL_CHECKPOINT_DIR=/shared/job-5-123\n"));
  EXPECT_THAT(Log("stdout"), HasSubstr("PIPEFILL_CHECKPOINT_EVERY=0.5:600\n"));
}

TEST_F(TaskSupervisorTest, UserCannotTakeTheTaskAwayFromItsAgent) {
  AttemptSpec spec = SpecFor({"env"});
  spec.env = {{"PIPEFILL_SOCKET", "/elsewhere"}, {"PIPEFILL_FENCE", "1"}};
  Launch(spec);
  ASSERT_TRUE(WaitForEnd());
  EXPECT_THAT(Log("stdout"), HasSubstr("PIPEFILL_SOCKET=" + state_dir_ + "/socket\n"));
  EXPECT_THAT(Log("stdout"), HasSubstr("PIPEFILL_FENCE=77\n"));
}

TEST_F(TaskSupervisorTest, KillsTaskThatGrowsOverItsCap) {
  Launch(SpecFor({"python3", "-c",
                  "held = []\n"
                  "while True: held.append(bytearray(4 << 20))\n"},
                 64 * kMiB));
  ASSERT_TRUE(WaitForEnd());
  EXPECT_EQ(listener_.end->cause, EndCause::kOutOfMemory);
  EXPECT_THAT(listener_.end->text, HasSubstr("out_of_memory (cap 64 MiB, peak "));
  EXPECT_GT(listener_.use.memory_peak_bytes, 64 * kMiB);
}

TEST_F(TaskSupervisorTest, CountsTheMemoryOfChildrenToo) {
  Launch(SpecFor({"sh", "-c",
                  "python3 -c 'x = bytearray(60 << 20); import time; time.sleep(60)' & "
                  "python3 -c 'x = bytearray(60 << 20); import time; time.sleep(60)' & wait"},
                 100 * kMiB));
  ASSERT_TRUE(WaitForEnd());
  EXPECT_EQ(listener_.end->cause, EndCause::kOutOfMemory);
}

TEST_F(TaskSupervisorTest, CountsPagesThatChildrenShareOnce) {
  Launch(SpecFor({"python3", "-c",
                  "import os, time\n"
                  "held = bytes(b'x' * (60 << 20))\n"
                  "if os.fork() and os.fork(): print('forked', flush=True)\n"
                  "time.sleep(60)\n"},
                 140 * kMiB));
  ASSERT_TRUE(WaitForOutput("forked"));
  // Plain addition gives more than 180 MiB from now on.
  int64_t seen_bytes = 0;
  ASSERT_TRUE(runner_.RunUntil([&] {
    seen_bytes = supervisor_->UseOf(SpecFor({}).key).memory_bytes;
    return seen_bytes > 60 * kMiB;
  }));
  runner_.Do([&] { supervisor_->Tick(nullptr); });
  EXPECT_LT(supervisor_->UseOf(SpecFor({}).key).memory_bytes, 140 * kMiB);
  EXPECT_FALSE(listener_.end.has_value());
}

TEST_F(TaskSupervisorTest, UnitThatEatsCpuOutsideBubblesIsFrozenThenKilledWithTheReason) {
  Launch(SpecFor({"sh", "-c", "echo ready; while :; do :; done"}));
  ASSERT_TRUE(WaitForOutput("ready"));
  runner_.Do([this] { supervisor_->OnAttached(SpecFor({}).key); });
  const UnitView unit = {.start = Instant(), .is_in_its_bubble = false, .is_bubble_open = false};
  bool was_stopped = false;
  ASSERT_TRUE(runner_.RunUntil([&] {
    supervisor_->OnUnitSeen(SpecFor({}).key, unit);
    const std::optional<ProcessStat> stat = ReadProcess(listener_.started_pid);
    was_stopped = was_stopped || (stat.has_value() && stat->state == 'T');
    return listener_.end.has_value();
  }));
  EXPECT_TRUE(was_stopped);
  EXPECT_EQ(listener_.end->cause, EndCause::kSignalled);
  EXPECT_THAT(listener_.end->text, HasSubstr("of CPU time while no bubble was open"));
}

TEST_F(TaskSupervisorTest, TaskThatSpinsBetweenItsUnitsIsFrozenThenKilledAndBothAreCounted) {
  Launch(SpecFor({"sh", "-c", "echo ready; while :; do :; done"}));
  ASSERT_TRUE(WaitForOutput("ready"));
  runner_.Do([this] { supervisor_->OnAttached(SpecFor({}).key); });
  const UnitView between = {.units_done = 1, .is_bubble_open = false};
  ASSERT_TRUE(runner_.RunUntil([&] {
    supervisor_->OnUnitSeen(SpecFor({}).key, between);
    return listener_.end.has_value();
  }));
  EXPECT_THAT(listener_.end->text, HasSubstr("between two units"));
  EXPECT_EQ(listener_.use.freezes, 1);
}

TEST_F(TaskSupervisorTest, TaskThatSomebodyElseStoppedIsKilledWithTheReason) {
  Launch(SpecFor({"sh", "-c", "echo ready; exec sleep 60"}));
  ASSERT_TRUE(WaitForOutput("ready"));
  kill(listener_.started_pid, SIGSTOP);
  ASSERT_TRUE(WaitForEnd());
  EXPECT_EQ(listener_.end->cause, EndCause::kSignalled);
  EXPECT_THAT(listener_.end->text, HasSubstr("by somebody else"));
  EXPECT_EQ(listener_.use.freezes, 1);
}

TEST_F(TaskSupervisorTest, TaskWhoseKeeperIsKilledIsLostAndLeavesNothing) {
  Launch(SpecFor({"sh", "-c", "sleep 60 & echo ready; wait"}));
  ASSERT_TRUE(WaitForOutput("ready"));
  kill(ReadProcess(listener_.started_pid)->parent, SIGKILL);
  ASSERT_TRUE(WaitForEnd());
  EXPECT_EQ(listener_.end->cause, EndCause::kLost);
}

}  // namespace
}  // namespace pipefill
