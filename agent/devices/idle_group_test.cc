#include "agent/devices/idle_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/files.h"

namespace pipefill {
namespace {

using ::testing::AnyOf;

// A folder that looks like the root of a cpu controller whose groups were made before.
class FakeController {
 public:
  FakeController() {
    std::string name = absl::StrCat(testing::TempDir(), "/controller-XXXXXX");
    folder_ = mkdtemp(name.data());
    mkdir(absl::StrCat(folder_, "/pipefill").c_str(), 0755);
    Write("pipefill/cgroup.procs", "");
  }
  void Write(const std::string& file, const std::string& text) {
    std::ofstream(absl::StrCat(folder_, "/", file)) << text;
  }
  void MakeFolder(const std::string& name) {
    mkdir(absl::StrCat(folder_, "/", name).c_str(), 0755);
  }
  void Remove(const std::string& file) { remove(absl::StrCat(folder_, "/", file).c_str()); }
  std::string Read(const std::string& file) const {
    return ReadFile(absl::StrCat(folder_, "/", file)).value_or("absent");
  }
  std::string Mount(const std::string& type, const std::string& options) const {
    return absl::StrCat("proc /proc proc rw 0 0\n", type, " ", folder_, " ", type, " ", options,
                        " 0 0\n");
  }

 private:
  std::string folder_;
};

// The exit code of `body` in a child with a session of its own.
template <typename Body>
int InSession(const Body& body) {
  const pid_t child = fork();
  if (child == 0) {
    setsid();
    _exit(body());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(IdleGroupTest, MakesAnIdleGroupUnderVersionOne) {
  FakeController controller;
  controller.Write("pipefill/cpu.idle", "0");
  const IdleGroup group = IdleGroup::Make(controller.Mount("cgroup", "rw,cpu,cpuacct"));
  EXPECT_EQ(group.detail(), "idle group");
  EXPECT_TRUE(group.is_certain());
  EXPECT_EQ(controller.Read("pipefill/cpu.idle"), "1");
  EXPECT_EQ(InSession([&] { return group.JoinInChild(); }), 0);
  EXPECT_EQ(controller.Read("pipefill/cgroup.procs"), "0");
}

TEST(IdleGroupTest, AsksForTheControllerUnderVersionTwo) {
  FakeController controller;
  controller.Write("cgroup.controllers", "cpuset cpu io\n");
  controller.Write("cgroup.subtree_control", "");
  controller.Write("pipefill/cpu.idle", "0");
  controller.MakeFolder("pipefill/shared");
  controller.Write("pipefill/shared/cgroup.procs", "");
  const IdleGroup group = IdleGroup::Make(controller.Mount("cgroup2", "rw"));
  EXPECT_EQ(group.detail(), "idle group");
  EXPECT_EQ(controller.Read("cgroup.subtree_control"), "+cpu");
  // Not the group itself: it must stay free for groups of tasks.
  EXPECT_EQ(InSession([&] { return group.JoinInChild(); }), 0);
  EXPECT_EQ(controller.Read("pipefill/shared/cgroup.procs"), "0");
  EXPECT_EQ(controller.Read("pipefill/cgroup.procs"), "");
}

TEST(IdleGroupTest, TakesTheSmallestWeightWhereNoGroupCanBeIdle) {
  FakeController controller;
  controller.Write("pipefill/cpu.shares", "");
  EXPECT_EQ(IdleGroup::Make(controller.Mount("cgroup", "rw,cpu")).detail(), "low-weight group");
  EXPECT_EQ(controller.Read("pipefill/cpu.shares"), "2");
}

TEST(IdleGroupTest, FallsBackToTheSessionWithoutAController) {
  FakeController controller;
  controller.Write("cgroup.controllers", "io\n");
  for (const std::string& mounts : {std::string(), controller.Mount("cgroup", "rw,cpuacct"),
                                    controller.Mount("cgroup2", "rw")}) {
    const IdleGroup group = IdleGroup::Make(mounts);
    EXPECT_THAT(group.detail(), AnyOf("idle session", "no idle group")) << mounts;
    EXPECT_FALSE(group.is_certain());
    if (group.detail() == "no idle group") continue;
    EXPECT_EQ(InSession([&] {
                if (group.JoinInChild() != 0) return 1;
                const std::string session = ReadFile("/proc/self/autogroup").value_or("");
                return session.find("nice 19") == std::string::npos ? 2 : 0;
              }),
              0);
  }
}

TEST(IdleGroupTest, AGroupThatIsGoneIsAnErrorInTheChild) {
  FakeController controller;
  controller.Write("pipefill/cpu.idle", "0");
  const IdleGroup group = IdleGroup::Make(controller.Mount("cgroup", "rw,cpu"));
  controller.Remove("pipefill/cgroup.procs");
  EXPECT_EQ(InSession([&] { return group.JoinInChild(); }), ENOENT);
  EXPECT_EQ(IdleGroup().JoinInChild(), 0);
}

// On the machine at hand: whatever is possible here works.
TEST(IdleGroupTest, JoinsOnThisMachine) {
  const IdleGroup group = IdleGroup::Make(ReadFile("/proc/mounts").value_or(""));
  EXPECT_EQ(InSession([&] {
              if (group.JoinInChild() != 0) return 1;
              if (group.detail() != "idle group") return 0;
              const std::string groups = ReadFile("/proc/self/cgroup").value_or("");
              return groups.find("/pipefill\n") == std::string::npos ? 2 : 0;
            }),
            0);
}

}  // namespace
}  // namespace pipefill
