#include "agent/tasks/task_supervisor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "agent/tasks/loop_runner.h"

namespace pipefill {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

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
  void OnTaskEnded(const AttemptSpec&, const AttemptEnd& attempt_end,
                   const TaskUse& task_use) override {
    end = attempt_end;
    use = task_use;
  }

  pid_t started_pid = 0;
  bool is_asked_to_stop = false;
  std::optional<AttemptEnd> end;
  TaskUse use;
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
    supervisor_.emplace(runner_.loop(), *folders_, Options(), listener_);
    runner_.Do([this] { TickOn(); });
  }
  void TearDown() override {
    runner_.Stop();
    supervisor_.reset();
  }
  SupervisorOptions Options() const {
    return {.environment = {{"PATH", "/usr/bin:/bin"}},
            .socket = state_dir_ + "/socket",
            .python_path = "/opt/pipefill/python",
            .limits = {.freeze_after = absl::Milliseconds(50),
                       .freeze_between_after = absl::Milliseconds(50),
                       .stopped_after = absl::Milliseconds(50),
                       .kill_after = absl::Milliseconds(100)}};
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

// What an agentd that was killed leaves to the next one.
class InheritTest : public TaskSupervisorTest {
 protected:
  // A task of the agentd before, up to its first word.
  void LaunchBefore(const std::string& script) {
    runner_.Do([this] {
      former_.emplace(runner_.loop(), *folders_, Options(), former_listener_);
      TickFormer();
    });
    runner_.Do([&] { former_->Launch(SpecFor({"sh", "-c", "echo ready; " + script}), device_); });
    ASSERT_TRUE(WaitForOutput("ready"));
    ASSERT_TRUE(runner_.RunUntil([this] { return former_listener_.started_pid != 0; }));
    leader_ = former_listener_.started_pid;
  }
  void TickFormer() {
    if (!former_.has_value()) return;
    former_->Tick(nullptr);
    runner_.loop().PostAt(runner_.loop().Now() + absl::Milliseconds(10), [this] { TickFormer(); });
  }
  void KillAgentd() {
    runner_.Do([this] {
      former_->Release();
      former_.reset();
    });
  }
  std::vector<InheritedEnd> Inherit(const std::set<std::string>& devices = {"cpu0"}) {
    std::vector<InheritedEnd> ended;
    runner_.Do([&] { ended = supervisor_->Inherit(devices); });
    return ended;
  }
  static bool IsAlive(pid_t pid) {
    const std::optional<ProcessStat> stat = ReadProcess(pid);
    return stat.has_value() && stat->state != 'Z';
  }
  static bool IsStopped(pid_t pid) {
    const std::optional<ProcessStat> stat = ReadProcess(pid);
    return stat.has_value() && stat->state == 'T';
  }
  void TearDown() override {
    runner_.Do([this] { former_.reset(); });
    TaskSupervisorTest::TearDown();
  }

  RecordingListener former_listener_;
  std::optional<TaskSupervisor> former_;
  pid_t leader_ = 0;
};

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
