// Tasks that take all they can get: memory and processes, held by control groups where this machine
// has them, else by agentd's looks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "absl/strings/str_cat.h"
#include "agent/tasks/attempt_mark.h"
#include "agent/tasks/loop_runner.h"
#include "agent/tasks/task_supervisor.h"
#include "common/files.h"

namespace pipefill {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr int64_t kMiB = 1 << 20;
// Each of its processes tries again for ever.
constexpr char kForkBomb[] =
    "import os\n"
    "while True:\n"
    "  try: os.fork()\n"
    "  except OSError: pass\n";

class PlainDevice : public Device {
 public:
  const DeviceDescription& description() const override { return description_; }
  int64_t MemoryUsedBy(pid_t, const ProcessTable&) const override { return 0; }
  std::map<std::string, std::string> TaskEnvironment() const override { return {}; }
  int ApplyInChild() const noexcept override { return 0; }
  bool IsPlaceOf(pid_t) const override { return false; }

 private:
  const DeviceDescription description_;
};

class EndListener : public TaskListener {
 public:
  void OnTaskStarted(const AttemptSpec&, pid_t started_pid) override { pid = started_pid; }
  void OnTaskShouldStop(const AttemptKey&) override {}
  void OnTaskEnded(const AttemptSpec&, const AttemptEnd& task_end, const TaskUse& use) override {
    end = task_end;
    peak_bytes = use.memory_peak_bytes;
  }

  pid_t pid = 0;
  std::optional<AttemptEnd> end;
  int64_t peak_bytes = 0;
};

// With groups (true) and without (false).
class TaskGuardTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    state_dir_ = absl::StrCat(::testing::TempDir(), "/task_guard_", getpid());
    std::filesystem::remove_all(state_dir_);
    folders_.emplace(*AttemptFolders::Open(state_dir_));
    SupervisorOptions options = {.environment = {{"PATH", "/usr/bin:/bin"}},
                                 .socket = state_dir_ + "/socket",
                                 .python_path = "",
                                 .limits = {.processes_max = kProcesses}};
    if (GetParam()) {
      options.groups = TaskGroups(ReadFile("/proc/mounts").value_or(""),
                                  ReadFile("/proc/self/cgroup").value_or(""),
                                  absl::StrCat("task_guard_test.", getpid()));
    }
    supervisor_.emplace(runner_.loop(), *folders_, options, listener_);
    runner_.Do([this] { TickOn(); });
  }
  void TearDown() override {
    runner_.Stop();
    supervisor_.reset();
    std::filesystem::remove_all(state_dir_);
  }
  void TickOn() {
    supervisor_->Tick(nullptr);
    runner_.loop().PostAt(runner_.loop().Now() + absl::Milliseconds(10), [this] { TickOn(); });
  }

  void Launch(const std::vector<std::string>& command) {
    const AttemptSpec spec = {.key = kKey,
                              .job_name = "job",
                              .device = "cpu0",
                              .command = command,
                              .env = {},
                              .workdir = "",
                              .memory_bytes = 64 * kMiB};
    runner_.Do([&] { supervisor_->Launch(spec, device_); });
    if (GetParam() && supervisor_->UseOf(kKey).memory_guard.find("group") == std::string::npos) {
      GTEST_SKIP() << "no control groups for memory can be made here";
    }
  }
  void LaunchPython(const std::string& script) { Launch({"python3", "-c", script}); }
  void ExpectOutOfMemory() {
    ASSERT_TRUE(runner_.RunUntil([this] { return listener_.end.has_value(); }));
    EXPECT_EQ(listener_.end->cause, EndCause::kOutOfMemory) << listener_.end->text;
    EXPECT_THAT(listener_.end->text, StartsWith("out_of_memory (cap 64 MiB, peak "));
    EXPECT_GT(listener_.peak_bytes, 63 * kMiB);
    // The kernel lets none of it pass the cap.
    if (GetParam()) {
      EXPECT_EQ(listener_.end->text, "out_of_memory (cap 64 MiB, peak 64 MiB)");
    }
  }
  int CountProcesses() const {
    const AttemptMark mark = {.fence = kKey.fence, .socket = socket_};
    int count = 0;
    const ProcessTable everything = ReadProcessTable();
    for (const auto& [pid, stat] : everything.processes()) {
      if (stat.state != 'Z' && mark.IsOn(pid)) ++count;
    }
    return count;
  }

  static constexpr int32_t kProcesses = 40;
  static constexpr AttemptKey kKey = {
      .job = JobId(5), .attempt = AttemptNumber(1), .fence = Fence(77)};
  LoopRunner runner_;
  const PlainDevice device_;
  EndListener listener_;
  std::string state_dir_;
  const std::string socket_ =
      absl::StrCat(::testing::TempDir(), "/task_guard_", getpid(), "/socket");
  std::optional<AttemptFolders> folders_;
  std::optional<TaskSupervisor> supervisor_;
};

TEST_P(TaskGuardTest, FastAllocatorEndsForItsMemory) {
  LaunchPython("held = []\nwhile True: held.append(b'x' * (1 << 20))");
  ExpectOutOfMemory();
}

TEST_P(TaskGuardTest, ChildThatAllocatesEndsTheWholeTask) {
  Launch({"sh", "-c",
          "python3 -c 'held = []\n"
          "while True: held.append(b\"x\" * (1 << 20))'\n"
          "echo survived; while :; do :; done"});
  ExpectOutOfMemory();
  EXPECT_EQ(CountProcesses(), 0);
}

TEST_P(TaskGuardTest, TouchedMappingsCount) {
  LaunchPython(
      "import mmap\n"
      "held = mmap.mmap(-1, 256 << 20)\n"
      "for page in range(0, 256 << 20, 4096): held[page] = 1\n"
      "while True: pass\n");
  ExpectOutOfMemory();
}

TEST_P(TaskGuardTest, ForkBombStaysWithinItsLimitAndLeavesNothing) {
  // Where nothing but agentd's looks would stop it, a tame one.
  if (GetParam()) {
    LaunchPython(kForkBomb);
  } else {
    Launch({"sh", "-c", "while :; do sleep 60 & sleep 0.01; done"});
  }
  if (GetParam()) {
    // It goes on: forks fail.
    int most = 0;
    ASSERT_TRUE(runner_.RunUntil([&] {
      most = std::max(most, CountProcesses());
      return most >= kProcesses / 2;
    }));
    EXPECT_LE(most, kProcesses);
    runner_.Do([&] {
      supervisor_->Stop(kKey, {.cause = EndCause::kCancelled, .grace = absl::ZeroDuration()});
    });
  }
  ASSERT_TRUE(runner_.RunUntil([this] { return listener_.end.has_value(); }));
  if (!GetParam()) {
    EXPECT_THAT(listener_.end->text, HasSubstr("its limit is 40"));
  }
  ASSERT_TRUE(runner_.RunUntil([this] { return CountProcesses() == 0; }));
}

INSTANTIATE_TEST_SUITE_P(Guards, TaskGuardTest, ::testing::Bool(), [](const auto& with_groups) {
  return with_groups.param ? "Groups" : "Looks";
});

}  // namespace
}  // namespace pipefill
