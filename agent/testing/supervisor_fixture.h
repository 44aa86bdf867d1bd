// A supervisor on a loop of its own that ticks every 10 ms, for tests with real processes; and the
// one before it, as an agentd that was killed.
//
// Thread-compatible: the test's thread, with the loop of its LoopRunner.
#ifndef AGENT_TESTING_SUPERVISOR_FIXTURE_H_
#define AGENT_TESTING_SUPERVISOR_FIXTURE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/types.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/tasks/loop_runner.h"
#include "agent/tasks/task_supervisor.h"

namespace pipefill {

inline constexpr int64_t kMiB = 1 << 20;

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

inline AttemptSpec SpecFor(std::vector<std::string> command, int64_t memory_bytes = 256 * kMiB) {
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

// What an agentd that was killed leaves to the next one.
class InheritTest : public TaskSupervisorTest {
 protected:
  // A task of the agentd before, up to its first word.
  void LaunchBefore(const std::string& script) {
    LaunchBefore(SpecFor({"sh", "-c", "echo ready; " + script}));
  }
  void LaunchBefore(const AttemptSpec& spec) {
    runner_.Do([this] {
      former_.emplace(runner_.loop(), *folders_, Options(), former_listener_);
      TickFormer();
    });
    runner_.Do([&] { former_->Launch(spec, device_); });
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

}  // namespace pipefill

#endif  // AGENT_TESTING_SUPERVISOR_FIXTURE_H_
