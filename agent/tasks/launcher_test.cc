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
#include "agent/tasks/exit_record.h"
#include "agent/tasks/loop_runner.h"

namespace pipefill {
namespace {

using ::testing::EndsWith;
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
  }

  LaunchRequest RequestFor(std::vector<std::string> command) {
    return {.command = std::move(command),
            .environment = {"PATH=/usr/bin:/bin", "COLOUR=blue"},
            .workdir = folder_,
            .folder = folder_,
            .stdout_log = folder_ + "/output",
            .stderr_log = folder_ + "/errors",
            .device = nullptr};
  }

  absl::Status Launch(const LaunchRequest& request) {
    absl::Status status;
    runner_.Do([&] {
      auto process = Process::Launch(runner_.loop(), request,
                                     {.on_forked = [this] { forked_pid_ = process_->pid(); },
                                      .on_started = [this] { is_started_ = true; },
                                      .on_failed = [this](std::string text) { failure_ = text; },
                                      .on_exited = [this](auto exit) { OnExited(exit); }});
      status = process.status();
      if (process.ok()) process_ = *std::move(process);
    });
    return status;
  }

  void OnExited(const std::optional<ProcessExit>& exit) {
    is_over_ = true;
    exit_ = exit;
  }
  bool WaitForStart() {
    return runner_.RunUntil([this] { return is_started_; });
  }
  bool WaitForExit() {
    return runner_.RunUntil([this] { return is_over_; });
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
  std::unique_ptr<Process> process_;
  pid_t forked_pid_ = 0;
  bool is_started_ = false;
  bool is_over_ = false;
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

TEST_F(LauncherTest, FullDiskOfLogsStopsTheLogNotTheProgramAndIsTold) {
  std::filesystem::create_symlink("/dev/full", folder_ + "/output");
  ASSERT_TRUE(Launch(RequestFor({"sh", "-c", "echo lost; echo kept >&2; exit 7"})).ok());
  ASSERT_TRUE(WaitForExit());
  EXPECT_EQ(exit_->exit_code, 7);
  EXPECT_THAT(exit_->log_error, HasSubstr("No space left on device"));
  EXPECT_EQ(Text(folder_ + "/errors"), "kept\n");
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
                                 "readlink /proc/$$/fd/0; exec ls /proc/self/fd"}))
                  .ok());
  ASSERT_TRUE(WaitForExit());
  EXPECT_THAT(Output(), HasSubstr("COLOUR=blue\n"));
  EXPECT_THAT(Output(), HasSubstr(std::filesystem::canonical(folder_).string() + "\n"));
  // PATH and COLOUR, and PWD, which the shell itself adds.
  EXPECT_THAT(Output(), HasSubstr("\n3\n"));
  // The last one is the folder that ls itself reads.
  EXPECT_THAT(Output(), EndsWith("/dev/null\n0\n1\n2\n3\n"));
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
  EXPECT_FALSE(is_over_);
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

TEST_F(LauncherTest, KeeperHasTheTaskAsItsOnlyChildAndOnlyDescriptorsOfItsOwn) {
  const FileDescriptor leaked(open("/dev/null", O_RDONLY));  // no O_CLOEXEC
  ASSERT_TRUE(Launch(RequestFor({"sleep", "60"})).ok());
  ASSERT_TRUE(WaitForStart());
  EXPECT_EQ(process_->pid(), forked_pid_);
  EXPECT_EQ(ReadProcess(process_->pid())->parent, process_->keeper().pid);
  // 0 to 2, the folder, six of the logs and their times, and one for the task.
  const std::filesystem::path folder = absl::StrCat("/proc/", process_->keeper().pid, "/fd");
  EXPECT_TRUE(runner_.RunUntil(
      [&] { return std::distance(std::filesystem::directory_iterator(folder), {}) == 11; }));
}

TEST_F(LauncherTest, TaskDiesWithItsKeeperAndNobodyKnowsHow) {
  ASSERT_TRUE(Launch(RequestFor({"sleep", "60"})).ok());
  ASSERT_TRUE(WaitForStart());
  kill(process_->keeper().pid, SIGKILL);
  ASSERT_TRUE(WaitForExit());
  EXPECT_EQ(exit_, std::nullopt);
  EXPECT_TRUE(runner_.RunUntil([this] { return !IsAlive(process_->pid()); }));
}

TEST_F(LauncherTest, KeeperOutlivesSignalsThatEndOtherProcesses) {
  ASSERT_TRUE(Launch(RequestFor({"sleep", "60"})).ok());
  ASSERT_TRUE(WaitForStart());
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGPIPE, SIGQUIT}) {
    kill(process_->keeper().pid, number);
  }
  Signal(SIGUSR1);
  ASSERT_TRUE(WaitForExit());
  EXPECT_EQ(exit_->signal, SIGUSR1);
}

TEST_F(LauncherTest, ReportsTheExitEvenIfNoRecordOfItCanBeWritten) {
  std::filesystem::create_directory(folder_ + "/exit.new");
  ASSERT_TRUE(Launch(RequestFor({"sh", "-c", "exit 7"})).ok());
  ASSERT_TRUE(WaitForExit());
  EXPECT_EQ(exit_->exit_code, 7);
}

// As the agentd after a crash does.
class AdoptTest : public LauncherTest {
 protected:
  // Starts it and lets go of it.
  void Leave(std::vector<std::string> command) {
    ASSERT_TRUE(Launch(RequestFor(std::move(command))).ok());
    ASSERT_TRUE(WaitForStart());
    keeper_ = process_->keeper();
    leader_ = process_->pid();
    runner_.Do([this] {
      process_->Release();
      process_.reset();
    });
  }
  absl::Status Adopt(const ProcessId& keeper) {
    absl::Status status;
    runner_.Do([&] {
      auto process =
          Process::Adopt(runner_.loop(), {.keeper = keeper, .leader = leader_, .folder = folder_},
                         {.on_exited = [this](auto exit) { OnExited(exit); }});
      status = process.status();
      if (process.ok()) process_ = *std::move(process);
    });
    return status;
  }

  ProcessId keeper_;
  pid_t leader_ = 0;
};

TEST_F(AdoptTest, ReleasedTaskRunsOnAndTheNextAgentLearnsItsExitCodeAndOutput) {
  Leave({"sh", "-c", "while [ ! -e go ]; do sleep 0.01; done; echo done; exit 5"});
  EXPECT_TRUE(IsAlive(leader_));
  ASSERT_TRUE(Adopt(keeper_).ok());
  std::ofstream(folder_ + "/go") << "";
  ASSERT_TRUE(WaitForExit());
  EXPECT_EQ(exit_->exit_code, 5);
  EXPECT_EQ(Output(), "done\n");
}

TEST_F(AdoptTest, TaskThatEndsWhileNobodyWatchesLeavesItsExitCodeAndOutput) {
  Leave({"sh", "-c", "echo last words; exit 6"});
  ASSERT_TRUE(runner_.RunUntil([this] { return ReadExitRecord(folder_).has_value(); }));
  EXPECT_EQ(ReadExitRecord(folder_)->exit.exit_code, 6);
  EXPECT_EQ(Output(), "last words\n");
}

TEST_F(AdoptTest, SignalsReachAnAdoptedTask) {
  Leave({"sleep", "60"});
  ASSERT_TRUE(Adopt(keeper_).ok());
  Signal(SIGTERM);
  ASSERT_TRUE(WaitForExit());
  EXPECT_EQ(exit_->signal, SIGTERM);
}

TEST_F(AdoptTest, ProcessThatOnlyHasTheSameNumberIsNotAdopted) {
  Leave({"sleep", "60"});
  ProcessId other = keeper_;
  ++other.start_ticks;
  EXPECT_EQ(Adopt(other).code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(IsAlive(leader_));
  ASSERT_TRUE(Adopt(keeper_).ok());  // so that it ends with the test
}

TEST_F(LauncherTest, DestroyedProcessLeavesNothingBehind) {
  ASSERT_TRUE(Launch(RequestFor({"sh", "-c", "sleep 60 & echo child=$!; wait"})).ok());
  ASSERT_TRUE(runner_.RunUntil([this] { return Output().find('\n') != std::string::npos; }));
  const pid_t leader = process_->pid();
  const pid_t child = PrintedPid("child");
  runner_.Do([&] { process_.reset(); });
  EXPECT_TRUE(runner_.RunUntil([&] { return !IsAlive(leader); }));
  EXPECT_TRUE(runner_.RunUntil([&] { return !IsAlive(child); }));
}

}  // namespace
}  // namespace pipefill
