#include "agent/tasks/task_group.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/files.h"

namespace pipefill {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMiB = 1 << 20;

AttemptKey KeyOf(int64_t job) {
  return {.job = JobId(job), .attempt = AttemptNumber(2), .fence = Fence(77)};
}

int ExitCodeOf(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

// Folders that look like controllers; their groups' files are there already, as the kernel's would.
class FakeControllers : public ::testing::Test {
 protected:
  FakeControllers()
      : root_(absl::StrCat(::testing::TempDir(), "/task_group_",
                           ::testing::UnitTest::GetInstance()->current_test_info()->name())) {
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  ~FakeControllers() override { fs::remove_all(root_); }

  void Write(const std::string& path, const std::string& text = "") const {
    fs::create_directories(fs::path(root_ + "/" + path).parent_path());
    std::ofstream(root_ + "/" + path) << text;
  }
  std::string Read(const std::string& path) const {
    return ReadFile(root_ + "/" + path).value_or("absent");
  }
  std::string Mount(const std::string& name, const std::string& type,
                    const std::string& options) const {
    fs::create_directories(root_ + "/" + name);
    return absl::StrCat("x ", root_, "/", name, " ", type, " ", options, " 0 0\n");
  }

  const std::string root_;
};

constexpr char kOwn[] = "5:memory:/box\n3:cpu,pids:/\n0::/\n";

TEST_F(FakeControllers, Version1HasItsGroupsBelowThatOfAgentd) {
  const std::string mounts =
      Mount("m", "cgroup", "rw,memory") + Mount("p", "cgroup", "rw,cpu,pids");
  const std::string memory = "m/box/pipefill/9.2.77@_run_a.sock";
  const std::string pids = "p/pipefill/9.2.77@_run_a.sock";
  for (const char* file :
       {"memory.limit_in_bytes", "memory.memsw.limit_in_bytes", "cgroup.procs"}) {
    Write(absl::StrCat(memory, "/", file));
  }
  for (const char* file : {"pids.max", "cgroup.procs"}) Write(absl::StrCat(pids, "/", file));
  const TaskGroups groups(mounts, kOwn, "/run/a.sock");
  const TaskGroup group = groups.Make(KeyOf(9), {.memory_bytes = 64 * kMiB, .processes_max = 100});
  EXPECT_EQ(Read(memory + "/memory.limit_in_bytes"), "67108864");
  EXPECT_EQ(Read(memory + "/memory.memsw.limit_in_bytes"), "67108864");
  EXPECT_EQ(Read(pids + "/pids.max"), "100");
  EXPECT_EQ(group.memory_guard(), "control group (version 1)");
  EXPECT_TRUE(group.has_processes_limit());
  EXPECT_EQ(group.held_folder(), "");
  EXPECT_EQ(group.CountProcessesDenied(), 0);
  std::ofstream(root_ + "/" + pids + "/pids.events") << "max 3\n";
  EXPECT_EQ(group.CountProcessesDenied(), 3);
  EXPECT_EQ(group.JoinInChild(), 0);
  EXPECT_EQ(Read(memory + "/cgroup.procs"), "0");
  EXPECT_EQ(Read(pids + "/cgroup.procs"), "0");
}

TEST_F(FakeControllers, Version2HasOneGroupWithAnotherForTheProgramInIt) {
  const std::string mounts = Mount("u", "cgroup2", "rw");
  Write("u/cgroup.controllers", "cpu memory pids\n");
  Write("u/cgroup.subtree_control");
  Write("u/pipefill/cgroup.subtree_control");
  const std::string folder = "u/pipefill/9.2.77@_run_a.sock";
  for (const char* file : {"memory.max", "memory.swap.max", "memory.oom.group", "pids.max",
                           "cgroup.procs", "held/cgroup.freeze"}) {
    Write(absl::StrCat(folder, "/", file));
  }
  const TaskGroups groups(mounts, kOwn, "/run/a.sock");
  // One after the other, into a plain file.
  EXPECT_THAT(Read("u/pipefill/cgroup.subtree_control"), ::testing::StartsWith("+pids"));
  const TaskGroup group = groups.Make(KeyOf(9), {.memory_bytes = 64 * kMiB, .processes_max = 100});
  EXPECT_EQ(Read(folder + "/memory.max"), "67108864");
  EXPECT_EQ(Read(folder + "/memory.swap.max"), "0");
  EXPECT_EQ(Read(folder + "/memory.oom.group"), "1");
  EXPECT_EQ(Read(folder + "/pids.max"), "100");
  EXPECT_EQ(group.memory_guard(), "control group (version 2)");
  EXPECT_EQ(group.held_folder(), absl::StrCat(root_, "/", folder, "/held"));
  EXPECT_EQ(group.JoinInChild(), 0);
  EXPECT_EQ(Read(folder + "/cgroup.procs"), "0");
}

TEST_F(FakeControllers, WhereThereAreNoControllersOnlyAProgramCanBeHeld) {
  const std::string mounts = Mount("u", "cgroup2", "rw");
  Write("u/cgroup.controllers", "hugetlb\n");
  Write("u/pipefill/9.2.77@_run_a.sock/held/cgroup.freeze");
  const TaskGroup group =
      TaskGroups(mounts, kOwn, "/run/a.sock").Make(KeyOf(9), {.memory_bytes = kMiB});
  EXPECT_EQ(group.memory_guard(), "");
  EXPECT_FALSE(group.has_processes_limit());
  EXPECT_NE(group.held_folder(), "");
  EXPECT_EQ(group.JoinInChild(), 0);
}

TEST_F(FakeControllers, LimitThatCannotBeSetIsNoGuard) {
  const std::string mounts = Mount("m", "cgroup", "rw,memory");
  fs::create_directories(root_ + "/m/box");
  const TaskGroup group =
      TaskGroups(mounts, kOwn, "/run/a.sock").Make(KeyOf(9), {.memory_bytes = kMiB});
  EXPECT_EQ(group.memory_guard(), "");
}

TEST_F(FakeControllers, NothingIsMadeWithoutControlGroups) {
  const TaskGroup group = TaskGroups("proc /proc proc rw 0 0\n", "", "a").Make(KeyOf(9), {});
  EXPECT_EQ(group.memory_guard(), "");
  EXPECT_EQ(group.held_folder(), "");
  EXPECT_EQ(group.JoinInChild(), 0);
  EXPECT_EQ(group.CountMemoryKills(), 0);
  group.KillAll();
}

TEST_F(FakeControllers, TellsWhatTheKernelKilledAndThePeak) {
  const std::string mounts = Mount("m", "cgroup", "rw,memory");
  const std::string memory = "m/box/pipefill/9.2.77@_run_a.sock";
  Write(memory + "/memory.limit_in_bytes");
  Write(memory + "/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n");
  Write(memory + "/memory.max_usage_in_bytes", "12345\n");
  const TaskGroup group =
      TaskGroups(mounts, kOwn, "/run/a.sock").Make(KeyOf(9), {.memory_bytes = kMiB});
  EXPECT_EQ(group.CountMemoryKills(), 3);
  EXPECT_EQ(group.ReadMemoryPeak(), 12345);
}

TEST_F(FakeControllers, SweepsWhatIsNotLiveAndOnlyItsOwn) {
  const std::string mounts = Mount("m", "cgroup", "rw,memory");
  for (const char* name : {"1.2.77@_run_a.sock", "2.2.77@_run_a.sock", "1.2.77@_run_b.sock"}) {
    fs::create_directories(absl::StrCat(root_, "/m/box/pipefill/", name));
  }
  TaskGroups(mounts, kOwn, "/run/a.sock").Sweep({KeyOf(2)});
  EXPECT_FALSE(fs::exists(root_ + "/m/box/pipefill/1.2.77@_run_a.sock"));
  EXPECT_TRUE(fs::exists(root_ + "/m/box/pipefill/2.2.77@_run_a.sock"));
  EXPECT_TRUE(fs::exists(root_ + "/m/box/pipefill/1.2.77@_run_b.sock"));
}

TEST_F(FakeControllers, GroupsOfAnAgentBeforeAreFoundAgain) {
  const std::string mounts = Mount("m", "cgroup", "rw,memory");
  Write("m/box/pipefill/9.2.77@_run_a.sock/memory.limit_in_bytes");
  const TaskGroups groups(mounts, kOwn, "/run/a.sock");
  EXPECT_EQ(groups.Find(KeyOf(9)).memory_guard(), "control group (version 1)");
  EXPECT_EQ(groups.Find(KeyOf(8)).memory_guard(), "");
}

// On the machine at hand: whatever is possible here works.
TEST(TaskGroupTest, HoldsAProcessOnThisMachine) {
  const std::string agent = absl::StrCat("task_group_test.", getpid());
  const TaskGroups groups(ReadFile("/proc/mounts").value_or(""),
                          ReadFile("/proc/self/cgroup").value_or(""), agent);
  const TaskGroup group = groups.Make(KeyOf(1), {.memory_bytes = 64 * kMiB, .processes_max = 20});
  int started[2];
  ASSERT_EQ(pipe2(started, O_CLOEXEC), 0);
  const pid_t child = fork();
  if (child == 0) {
    if (group.JoinInChild() != 0) _exit(1);
    execlp("sh", "sh", "-c", "for i in 1 2 3 4 5 6 7 8; do sleep 100 & done; wait", nullptr);
    _exit(2);
  }
  // It ends with the child's change of program.
  close(started[1]);
  char nothing = 0;
  EXPECT_EQ(read(started[0], &nothing, 1), 0);
  close(started[0]);
  group.KillAll();
  const bool has_any_limit = !group.memory_guard().empty() || group.has_processes_limit();
  if (!has_any_limit) kill(child, SIGKILL);
  EXPECT_EQ(ExitCodeOf(child), -SIGKILL);
  group.KillAll();
  groups.Sweep({});
  EXPECT_EQ(groups.Find(KeyOf(1)).memory_guard(), "");
}

}  // namespace
}  // namespace pipefill
