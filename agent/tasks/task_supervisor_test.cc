#include "agent/tasks/task_supervisor.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "agent/tasks/loop_runner.h"

namespace pipefill {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kMiB = 1 << 20;

class PlainDevice : public Device {
 public:
  const DeviceDescription& description() const override { return description_; }
  int64_t MemoryUsedBy(pid_t, const ProcessTable&) const override { return 0; }
  std::map<std::string, std::string> TaskEnvironment() const override {
    return {{"OMP_NUM_THREADS", "1"}, {"MKL_NUM_THREADS", "1"}};
  }
  int ApplyInChild() const noexcept override { return 0; }
  bool IsPlaceOf(pid_t) const override { return false; }

 private:
  const DeviceDescription description_;
};

class RecordingListener : public TaskListener {
 public:
  void OnTaskStarted(const AttemptSpec&, pid_t pid) override { started_pid = pid; }
  void OnTaskShouldStop(const AttemptKey&) override { is_asked_to_stop = true; }
  void OnTaskEnded(const AttemptSpec&, const AttemptEnd& attempt_end, const TaskUse& use) override {
    end = attempt_end;
    memory_peak_bytes = use.memory_peak_bytes;
  }

  pid_t started_pid = 0;
  bool is_asked_to_stop = false;
  std::optional<AttemptEnd> end;
  int64_t memory_peak_bytes = 0;
};

AttemptSpec SpecFor(std::vector<std::string> command, int64_t memory_bytes = 256 * kMiB) {
  return {.key = {.job = JobId(5), .attempt = AttemptNumber(1), .fence = Fence(77)},
          .job_name = "job",
          .device = "cpu0",
          .command = std::move(command),
          .env = {},
          .workdir = "",
          .memory_bytes = memory_bytes};
}

class TaskSupervisorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    state_dir_ = absl::StrCat(::testing::TempDir(), "/task_supervisor_",
                              ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(state_dir_);
    folders_.emplace(*AttemptFolders::Open(state_dir_));
    supervisor_.emplace(runner_.loop(), *folders_,
                        SupervisorOptions{.environment = {{"PATH", "/usr/bin:/bin"}},
                                          .socket = state_dir_ + "/socket",
                                          .python_path = "/opt/pipefill/python",
                                          .limits = {.freeze_after = absl::Milliseconds(50),
                                                     .kill_after = absl::Milliseconds(100)}},
                        listener_);
    runner_.Do([this] { TickOn(); });
  }
  void TearDown() override {
    runner_.Stop();
    supervisor_.reset();
  }
  void TickOn() {
    supervisor_->Tick(nullptr);
    runner_.loop().PostAt(runner_.loop().Now() + absl::Milliseconds(10), [this] { TickOn(); });
  }

  void Launch(const AttemptSpec& spec) {
    runner_.Do([&] { supervisor_->Launch(spec, device_); });
  }
  void Stop(absl::Duration grace) {
    runner_.Do([&] {
      EXPECT_TRUE(supervisor_->Stop(
          SpecFor({}).key,
          {.cause = EndCause::kCancelled, .grace = grace, .text = "cancelled by the user"}));
    });
  }
  bool WaitForEnd() {
    return runner_.RunUntil([this] { return listener_.end.has_value(); });
  }
  bool WaitForOutput(const std::string& text) {
    return runner_.RunUntil([&] { return Log("stdout").find(text) != std::string::npos; });
  }
  std::string Log(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(state_dir_ + "/attempts/5.1/" + name).rdbuf();
    return text.str();
  }

  LoopRunner runner_;
  const PlainDevice device_;
  RecordingListener listener_;
  std::string state_dir_;
  std::optional<AttemptFolders> folders_;
  std::optional<TaskSupervisor> supervisor_;
};

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

TEST_F(TaskSupervisorTest, GivesTaskItsNamesItsPathsAndTheUsersVariables) {
  AttemptSpec spec = SpecFor({"sh", "-c", "env; pwd"});
  spec.env = {{"OMP_NUM_THREADS", "3"}, {"PYTHONPATH", "/home/user/lib"}};
  Launch(spec);
  ASSERT_TRUE(WaitForEnd());
  for (const char* line :
       {"PIPEFILL_JOB=5\n", "PIPEFILL_ATTEMPT=1\n", "PIPEFILL_FENCE=77\n", "PIPEFILL_DEVICE=cpu0\n",
        "/socket\n", "PYTHONPATH=/opt/pipefill/python:/home/user/lib\n", "MKL_NUM_THREADS=1\n",
        "OMP_NUM_THREADS=3\n", "/attempts/5.1/work\n"}) {
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
  EXPECT_THAT(listener_.end->text, HasSubstr("its cap is 64"));
  EXPECT_GT(listener_.memory_peak_bytes, 64 * kMiB);
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
  const UnitView unit = {.is_in_its_bubble = false, .is_bubble_open = false};
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

// Processes that an agentd before this one started: they have the mark of their attempt, and nobody
// here supervises them.
class OrphanTest : public TaskSupervisorTest {
 protected:
  void StartOrphan(const std::string& fence) {
    const FileDescriptor output(
        open((state_dir_ + "/orphan").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    runner_.Do([&] {
      auto process =
          Process::Launch(runner_.loop(),
                          {.command = {"sh", "-c", "sleep 60 & echo child=$!; wait"},
                           .environment = {"PATH=/usr/bin:/bin", "PIPEFILL_FENCE=" + fence,
                                           "PIPEFILL_SOCKET=" + state_dir_ + "/socket"},
                           .workdir = state_dir_,
                           .stdout_descriptor = output.get(),
                           .stderr_descriptor = output.get()},
                          {.on_started = [] {},
                           .on_failed = [](std::string) {},
                           .on_exited = [this](ProcessExit exit) { orphan_exit_ = exit; }});
      ASSERT_TRUE(process.ok()) << process.status();
      orphan_ = *std::move(process);
    });
    ASSERT_TRUE(runner_.RunUntil([this] {
      std::ifstream file(state_dir_ + "/orphan");
      return static_cast<bool>(file.ignore(6) >> child_);
    }));
  }

  std::vector<AttemptKey> KillOrphansAfterRecord(uint64_t start_ticks_later) {
    std::vector<AttemptKey> lost;
    runner_.Do([&] {
      EXPECT_TRUE(folders_->Create(SpecFor({}).key).ok());
      const ProcessRecord record = {
          .key = SpecFor({}).key,
          .pid = orphan_->pid(),
          .start_ticks = ReadProcess(orphan_->pid())->start_ticks + start_ticks_later,
          .boot_id = ReadBootId()};
      EXPECT_TRUE(folders_->WriteRecord(record).ok());
      lost = supervisor_->KillOrphans();
    });
    return lost;
  }
  bool IsChildAlive() const {
    const std::optional<ProcessStat> stat = ReadProcess(child_);
    return stat.has_value() && stat->state != 'Z';
  }
  void TearDown() override {
    TaskSupervisorTest::TearDown();
    orphan_.reset();
  }

  std::unique_ptr<Process> orphan_;
  pid_t child_ = 0;
  std::optional<ProcessExit> orphan_exit_;
};

TEST_F(OrphanTest, WhatAFormerAgentdLeftRunningIsKilledAndNamedOnce) {
  StartOrphan("77");
  EXPECT_THAT(KillOrphansAfterRecord(0), ElementsAre(SpecFor({}).key));
  ASSERT_TRUE(runner_.RunUntil([this] { return orphan_exit_.has_value() && !IsChildAlive(); }));
  EXPECT_EQ(orphan_exit_->signal, SIGKILL);
  runner_.Do([&] { EXPECT_TRUE(supervisor_->KillOrphans().empty()); });
}

TEST_F(OrphanTest, ProcessThatOnlyHasTheSameNumberIsLeftAlone) {
  StartOrphan("78");
  EXPECT_THAT(KillOrphansAfterRecord(1), ElementsAre(SpecFor({}).key));
  EXPECT_TRUE(IsChildAlive());
  EXPECT_FALSE(orphan_exit_.has_value());
}

TEST_F(OrphanTest, ChildrenWhoseLeaderIsGoneAreFoundByTheirMark) {
  StartOrphan("77");
  // As if the number in the record named a leader that ended long ago.
  KillOrphansAfterRecord(1);
  EXPECT_TRUE(runner_.RunUntil([this] { return !IsChildAlive(); }));
}

}  // namespace
}  // namespace pipefill
