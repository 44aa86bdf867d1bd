#include "agent/devices/process_stat.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace pipefill {
namespace {

constexpr char kLine[] =
    "4321 (a) b) S 17 4300 4200 0 -1 4194304 100 200 0 0 250 50 30 20 20 0 1 0 98765 12345678 300 "
    "18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 0\n";

TEST(ProcessStatTest, ReadsAllFieldsWhateverTheProgramIsCalled) {
  const std::optional<ProcessStat> stat = ParseProcessStat(kLine);
  ASSERT_TRUE(stat.has_value());
  EXPECT_EQ(stat->pid, 4321);
  EXPECT_EQ(stat->state, 'S');
  EXPECT_EQ(stat->parent, 17);
  EXPECT_EQ(stat->group, 4300);
  EXPECT_EQ(stat->session, 4200);
  EXPECT_EQ(stat->start_ticks, 98765u);
  EXPECT_EQ(stat->memory_bytes, 300 * sysconf(_SC_PAGESIZE));
  EXPECT_EQ(stat->cpu, absl::Seconds(1) * 350 / sysconf(_SC_CLK_TCK));
}

TEST(ProcessStatTest, RefusesEveryLineThatEndsBeforeTheLastFieldItNeeds) {
  const std::string line = kLine;
  const size_t needed = line.find(" 18446744073709551615");
  for (size_t length = 0; length < needed - 3; ++length) {
    EXPECT_FALSE(ParseProcessStat(line.substr(0, length)).has_value()) << length;
  }
  EXPECT_TRUE(ParseProcessStat(line.substr(0, needed)).has_value());
}

TEST(ProcessStatTest, RefusesFieldsThatAreNoNumbers) {
  EXPECT_FALSE(ParseProcessStat("12 (x) S a b c d e f g h i j k l m n o p q r s t u v w x y z"));
}

// A child that waits until this object goes.
class Child {
 public:
  Child() {
    EXPECT_EQ(pipe(release_), 0);
    EXPECT_EQ(pipe(report_), 0);
    pid_ = fork();
    if (pid_ == 0) Run();
    // So that only the child holds these ends.
    close(release_[0]);
    close(report_[1]);
    EXPECT_EQ(read(report_[0], &grandchild_, sizeof(grandchild_)), ssize_t{sizeof(grandchild_)});
  }
  ~Child() {
    close(release_[1]);
    waitpid(pid_, nullptr, 0);
    close(report_[0]);
  }

  pid_t pid() const { return pid_; }
  pid_t grandchild() const { return grandchild_; }

 private:
  static constexpr size_t kTouchedBytes = 32 << 20;

  [[noreturn]] void Run() {
    close(release_[1]);
    setsid();
    char byte;
    const pid_t grandchild = fork();
    if (grandchild == 0) {
      // Its memory shows up as its own.
      std::vector<char> touched(kTouchedBytes, 'x');
      const pid_t own = getpid();
      if (write(report_[1], &own, sizeof(own)) < 0) _exit(2);
      [[maybe_unused]] const ssize_t count = read(release_[0], &byte, 1);
      _exit(touched[5] == 'x' ? 0 : 1);
    }
    [[maybe_unused]] const ssize_t count = read(release_[0], &byte, 1);
    waitpid(grandchild, nullptr, 0);
    _exit(0);
  }

  pid_t pid_ = 0;
  pid_t grandchild_ = 0;
  int release_[2];
  int report_[2];
};

TEST(ReadProcessTest, SeesAChildOfOurs) {
  const Child child;
  const std::optional<ProcessStat> stat = ReadProcess(child.pid());
  ASSERT_TRUE(stat.has_value());
  EXPECT_EQ(stat->pid, child.pid());
  EXPECT_EQ(stat->parent, getpid());
  EXPECT_EQ(stat->session, child.pid());
  EXPECT_GT(stat->start_ticks, 0u);
  EXPECT_GT(stat->memory_bytes, 0);
  EXPECT_GE(stat->start_ticks, ReadProcess(getpid())->start_ticks);
}

TEST(ReadProcessTest, FindsNothingOnceTheProcessIsGone) {
  pid_t pid = 0;
  {
    const Child child;
    pid = child.pid();
  }
  EXPECT_FALSE(ReadProcess(pid).has_value());
  EXPECT_EQ(ReadProcessTable().UseOfFamily(pid).processes, 0);
}

TEST(ReadProcessTest, EndedProcessIsAZombieUntilItIsWaitedFor) {
  const pid_t pid = fork();
  if (pid == 0) _exit(0);
  siginfo_t info;
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(ReadProcess(pid)->state, 'Z');
  EXPECT_EQ(ReadProcessTable().UseOfFamily(pid).processes, 0);
  waitpid(pid, nullptr, 0);
}

TEST(ReadProcessTest, CountsTheCpuTimeOfChildrenThatWereWaitedFor) {
  const absl::Duration before = ReadProcess(getpid())->cpu;
  const pid_t pid = fork();
  if (pid == 0) {
    while (ReadProcess(getpid())->cpu < absl::Milliseconds(50)) {
    }
    _exit(0);
  }
  waitpid(pid, nullptr, 0);
  EXPECT_GE(ReadProcess(getpid())->cpu - before, absl::Milliseconds(50));
}

TEST(ProcessTableTest, FamilyIncludesGrandchildrenAndTheirMemory) {
  const Child child;
  const ProcessTable table = ReadProcessTable();
  EXPECT_EQ(table.FamilyOf(child.pid()), (std::set<pid_t>{child.pid(), child.grandchild()}));
  const ProcessUse use = table.UseOfFamily(child.pid());
  EXPECT_EQ(use.processes, 2);
  EXPECT_GT(use.memory_bytes, 32 << 20);
  EXPECT_TRUE(table.FamilyOf(getpid()).contains(child.grandchild()));
}

TEST(ProcessTableTest, KinshipInACircleEnds) {
  ProcessTable table;
  table.Add({.pid = 1, .parent = 2, .memory_bytes = 10, .cpu = absl::Seconds(1)});
  table.Add({.pid = 2, .parent = 1, .memory_bytes = 5, .cpu = absl::Seconds(2)});
  const ProcessUse use = table.UseOfFamily(1);
  EXPECT_EQ(use.processes, 2);
  EXPECT_EQ(use.memory_bytes, 15);
  EXPECT_EQ(use.cpu, absl::Seconds(3));
}

TEST(ProcessTableTest, FolderThatIsNoProcIsEmpty) {
  EXPECT_TRUE(ReadProcessTable("/nonexistent").processes().empty());
}

}  // namespace
}  // namespace pipefill
