#include "agent/tasks/launcher.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "agent/devices/process_stat.h"
#include "agent/tasks/loop_runner.h"

namespace pipefill {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// Stands for a device whose set-up fails in the child.
class BrokenDevice : public Device {
 public:
  const DeviceDescription& description() const override { return description_; }
  int64_t MemoryUsedBy(pid_t, const ProcessTable&) const override { return 0; }
  std::map<std::string, std::string> TaskEnvironment() const override { return {}; }
  int ApplyInChild() const noexcept override { return EPERM; }
  bool IsPlaceOf(pid_t) const override { return false; }

 private:
  const DeviceDescription description_;
};

class LauncherTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = absl::StrCat(::testing::TempDir(), "/launcher_",
                           ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    output_ =
        FileDescriptor(open((folder_ + "/output").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  }

  LaunchRequest RequestFor(std::vector<std::string> command) {
    return {.command = std::move(command),
            .environment = {"PATH=/usr/bin:/bin", "COLOUR=blue"},
            .workdir = folder_,
            .stdout_descriptor = output_.get(),
            .stderr_descriptor = output_.get(),
            .device = nullptr};
  }

  absl::Status Launch(const LaunchRequest& request) {
    absl::Status status;
    runner_.Do([&] {
      auto process = Process::Launch(runner_.loop(), request,
                                     {.on_started = [this] { is_started_ = true; },
                                      .on_failed = [this](std::string text) { failure_ = text; },
                                      .on_exited = [this](ProcessExit exit) { exit_ = exit; }});
      status = process.status();
      if (process.ok()) process_ = *std::move(process);
    });
    return status;
  }

  bool WaitForStart() {
    return runner_.RunUntil([this] { return is_started_; });
  }
  bool WaitForExit() {
    return runner_.RunUntil([this] { return exit_.has_value(); });
  }
  void Signal(int signal) {
    runner_.Do([&] { process_->SignalGroup(signal); });
  }

  std::string Output() const { return Text(folder_ + "/output"); }
  static std::string Text(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  // Of a line "name=NUMBER" that the program printed.
  pid_t PrintedPid(const std::string& name) const {
    const std::string output = Output();
    return std::stoi(output.substr(output.find(name + "=") + name.size() + 1));
  }
  static bool IsAlive(pid_t pid) {
    const std::optional<ProcessStat> stat = ReadProcess(pid);
    return stat.has_value() && stat->state != 'Z';
  }

  void TearDown() override {
    runner_.Stop();
    process_.reset();
  }

  LoopRunner runner_;
  std::string folder_;
  FileDescriptor output_;
  std::unique_ptr<Process> process_;
  bool is_started_ = false;
  std::optional<std::string> failure_;
  std::optional<ProcessExit> exit_;
};

TEST_F(LauncherTest, ReportsStartThenExitCode) {
  ASSERT_TRUE(Launch(RequestFor({"true"})).ok());
  ASSERT_TRUE(WaitForExit());
  EXPECT_TRUE(is_started_);
  EXPECT_EQ(failure_, std::nullopt);
  EXPECT_EQ(exit_->exit_code, 0);
  EXPECT_EQ(exit_->signal, 0);
}

TEST_F(LauncherTest, HandsOnTheExitCodeOfAFailingProgram) {
  ASSERT_TRUE(Launch(RequestFor({"sh", "-c", "exit 7"})).ok());
  ASSERT_TRUE(WaitForExit());
  EXPECT_EQ(exit_->exit_code, 7);
}

TEST_F(LauncherTest, RefusesMissingCommandByName) {
  const absl::Status status = Launch(RequestFor({"no-such-program"}));
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(status.message(), "command not found: no-such-program");
}

TEST_F(LauncherTest, RefusesFileThatIsNotExecutable) {
  std::ofstream(folder_ + "/script") << "echo hello\n";
  const absl::Status status = Launch(RequestFor({"./script"}));
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
}

TEST_F(LauncherTest, ReportsProgramThatTheKernelRefuses) {
  std::ofstream(folder_ + "/broken") << "not a program";
  std::filesystem::permissions(folder_ + "/broken", std::filesystem::perms::all);
  ASSERT_TRUE(Launch(RequestFor({"./broken"})).ok());
  ASSERT_TRUE(WaitForExit());
  EXPECT_FALSE(is_started_);
  EXPECT_EQ(failure_, absl::StrCat("cannot run ", folder_, "/./broken: Exec format error"));
}

TEST_F(LauncherTest, ReportsMissingWorkFolder) {
  LaunchRequest request = RequestFor({"true"});
  request.workdir = folder_ + "/absent";
  ASSERT_TRUE(Launch(request).ok());
  ASSERT_TRUE(WaitForExit());
  EXPECT_THAT(failure_.value_or(""), HasSubstr("cannot enter the work folder"));
}

TEST_F(LauncherTest, ReportsDeviceThatCannotBeSetUp) {
  const BrokenDevice device;
  LaunchRequest request = RequestFor({"true"});
  request.device = &device;
  ASSERT_TRUE(Launch(request).ok());
  ASSERT_TRUE(WaitForExit());
  EXPECT_THAT(failure_.value_or(""), StartsWith("cannot tie the task to its device"));
}

TEST_F(LauncherTest, ProgramSeesItsEnvironmentItsFolderAndNothingElse) {
  const FileDescriptor leaked(open("/dev/null", O_RDONLY));  // no O_CLOEXEC
  ASSERT_TRUE(Launch(RequestFor({"sh", "-c",
                                 "echo COLOUR=$COLOUR; pwd; env | grep -c .; "
                                 "ls /proc/$$/fd | tr '\\n' ' '; readlink /proc/$$/fd/0"}))
                  .ok());
  ASSERT_TRUE(WaitForExit());
  EXPECT_THAT(Output(), HasSubstr("COLOUR=blue\n"));
  EXPECT_THAT(Output(), HasSubstr(std::filesystem::canonical(folder_).string() + "\n"));
  // PATH and COLOUR, and PWD, which the shell itself adds.
  EXPECT_THAT(Output(), HasSubstr("\n3\n"));
  EXPECT_THAT(Output(), HasSubstr("0 1 2 /dev/null"));
}

TEST_F(LauncherTest, ProgramLeadsItsOwnSessionAndIsTheKernelsFirstVictim) {
  ASSERT_TRUE(Launch(RequestFor({"sh", "-c", "cat /proc/$$/oom_score_adj; exec sleep 60"})).ok());
  ASSERT_TRUE(WaitForStart());
  const std::optional<ProcessStat> stat = ReadProcess(process_->pid());
  ASSERT_TRUE(stat.has_value());
  EXPECT_EQ(stat->session, process_->pid());
  EXPECT_TRUE(runner_.RunUntil([this] { return Output() == "1000\n"; }));
}

TEST_F(LauncherTest, ProgramHasDefaultSignalsWhateverAgentdIgnores) {
  signal(SIGTERM, SIG_IGN);
  ASSERT_TRUE(Launch(RequestFor({"sleep", "60"})).ok());
  signal(SIGTERM, SIG_DFL);
  ASSERT_TRUE(WaitForStart());
  Signal(SIGTERM);
  ASSERT_TRUE(WaitForExit());
  EXPECT_EQ(exit_->signal, SIGTERM);
}

TEST_F(LauncherTest, KillEndsProgramThatIgnoresTermination) {
  ASSERT_TRUE(
      Launch(RequestFor({"sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.01; done"}))
          .ok());
  ASSERT_TRUE(runner_.RunUntil([this] { return Output() == "ready\n"; }));
  Signal(SIGTERM);
  ASSERT_TRUE(runner_.RunUntil([this] { return IsAlive(process_->pid()); }));
  EXPECT_FALSE(exit_.has_value());
  Signal(SIGKILL);
  ASSERT_TRUE(WaitForExit());
  EXPECT_EQ(exit_->signal, SIGKILL);
}

TEST_F(LauncherTest, SignalsReachTheChildrenToo) {
  ASSERT_TRUE(Launch(RequestFor({"sh", "-c", "sleep 60 & echo child=$!; wait"})).ok());
  ASSERT_TRUE(runner_.RunUntil([this] { return Output().find('\n') != std::string::npos; }));
  const pid_t child = PrintedPid("child");
  ASSERT_TRUE(IsAlive(child));
  Signal(SIGKILL);
  ASSERT_TRUE(WaitForExit());
  EXPECT_TRUE(runner_.RunUntil([&] { return !IsAlive(child); }));
}

TEST_F(LauncherTest, ChildrenThatOutliveTheLeaderAreKilledBeforeTheExitIsReported) {
  ASSERT_TRUE(Launch(RequestFor({"sh", "-c", "sleep 60 & echo child=$!; exit 3"})).ok());
  ASSERT_TRUE(WaitForExit());
  EXPECT_EQ(exit_->exit_code, 3);
  const pid_t child = PrintedPid("child");
  EXPECT_TRUE(runner_.RunUntil([&] { return !IsAlive(child); }));
}

TEST_F(LauncherTest, DestroyedProcessLeavesNothingBehind) {
  ASSERT_TRUE(Launch(RequestFor({"sh", "-c", "sleep 60 & echo child=$!; wait"})).ok());
  ASSERT_TRUE(runner_.RunUntil([this] { return Output().find('\n') != std::string::npos; }));
  const pid_t leader = process_->pid();
  const pid_t child = PrintedPid("child");
  runner_.Do([&] { process_.reset(); });
  EXPECT_FALSE(ReadProcess(leader).has_value());
  EXPECT_TRUE(runner_.RunUntil([&] { return !IsAlive(child); }));
}

}  // namespace
}  // namespace pipefill
