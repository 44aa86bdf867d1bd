// The program pipefill-process, with real programs under it, against an agentd in another process:
// stopped by signals, and by the freezer of a control group where one can be made.
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "client/pages/handshake.h"
#include "client/platform/clock.h"
#include "client/platform/futex.h"
#include "client/process/process_tree.h"
#include "client/process/small_file.h"
#include "client/testing/fake_agent.h"
#include "gtest/gtest.h"

namespace pipefill::sdk {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint64_t kMs = 1'000'000;
constexpr uint32_t kSlot = 4;

// A control group for one test; its folder is empty where none can be made.
class TestGroup {
 public:
  TestGroup() {
    std::istringstream mounts(ReadSmallFile("/proc/mounts"));
    std::string device;
    std::string folder;
    std::string type;
    for (std::string line; std::getline(mounts, line);) {
      std::istringstream(line) >> device >> folder >> type;
      if (type != "cgroup2") continue;
      const std::string path = folder + "/pipefill-test." + std::to_string(getpid());
      if (mkdir(path.c_str(), 0755) == 0) folder_ = path;
    }
  }
  ~TestGroup() {
    if (!folder_.empty()) rmdir(folder_.c_str());
  }
  TestGroup(const TestGroup&) = delete;
  TestGroup& operator=(const TestGroup&) = delete;

  const std::string& folder() const { return folder_; }

 private:
  std::string folder_;
};

enum class Way { kSignals, kFreezer };

class ProcessRunTest : public testing::TestWithParam<Way> {
 protected:
  void SetUp() override {
    if (GetParam() == Way::kFreezer && group_.folder().empty()) {
      GTEST_SKIP() << "no control group of version 2 can be made here";
    }
    folder_ = testing::TempDir() + "/process_run." + std::to_string(getpid());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    // Open ended.
    OfferBubble(agent_.window.get(), kSlot, 64 * kMs, int64_t{1} << 60);
    agent_.window->heartbeat_ns.store(UINT64_MAX);
    agent_.shared().has_signal.store(1);
    agent_.window->signal_generation.fetch_add(1);
  }
  void TearDown() override {
    if (gate_ > 0) {
      // As agentd does: the gate first, then all that it has seen below it.
      kill(gate_, SIGSTOP);
      const std::vector<ProcessSight> left = ProcessTree(gate_).Look();
      kill(gate_, SIGKILL);
      waitpid(gate_, nullptr, 0);
      for (const ProcessSight& sight : left) kill(sight.pid, SIGKILL);
    }
    if (!group_.folder().empty()) {
      WriteSmallFile(group_.folder() + "/cgroup.kill", "1");
      Await([&] { return !IsGroupPopulated(); });
    }
    std::filesystem::remove_all(folder_);
  }

  // In a folder of the test's own; `script` is one for sh.
  void Start(const std::string& script) { StartCommand({"sh", "-c", script}); }
  void StartCommand(const std::vector<std::string>& command) {
    std::vector<std::string> words = {"client/process/pipefill-process"};
    if (GetParam() == Way::kFreezer) words.insert(words.end(), {"--group", group_.folder()});
    words.emplace_back("--");
    words.insert(words.end(), command.begin(), command.end());
    std::vector<std::string> variables = {
        "PATH=/usr/bin:/bin", "AT=" + folder_,      "PIPEFILL_SOCKET=" + agent_.socket(),
        "PIPEFILL_JOB=17",    "PIPEFILL_ATTEMPT=2", "PIPEFILL_FENCE=3"};
    const auto pointers = [](std::vector<std::string>& texts) {
      std::vector<char*> result;
      for (std::string& text : texts) result.push_back(text.data());
      result.push_back(nullptr);
      return result;
    };
    ASSERT_EQ(posix_spawn(&gate_, words[0].c_str(), nullptr, nullptr, pointers(words).data(),
                          pointers(variables).data()),
              0);
  }

  // Spins until `is_true`; only a broken test comes to the end of the time.
  static void Await(const std::function<bool()>& is_true) {
    const SystemClock clock;
    const uint64_t begin_ns = clock.NowNs();
    while (!is_true()) {
      ASSERT_LT(clock.NowNs() - begin_ns, 50 * kSecond);
      sched_yield();
    }
  }
  std::string PathOf(const std::string& name) const { return folder_ + "/" + name; }
  bool Has(const std::string& name) const { return std::filesystem::exists(PathOf(name)); }
  std::string ContentOf(const std::string& name) const { return ReadSmallFile(PathOf(name)); }

  void OpenBubble() {
    const SystemClock clock;
    agent_.signal->slot.store(kSlot);
    agent_.signal->begin_ns.store(clock.NowNs());
    agent_.signal->seq.fetch_add(1);
    SystemFutex().WakeAll(agent_.signal->seq);
  }
  void CloseBubble() { agent_.signal->seq.fetch_add(1); }
  // Also waits until the last slice is over. On a busy machine that may be before all processes
  // have got the core to stop.
  void EndBubble() {
    CloseBubble();
    Await([&] { return agent_.task->unit_start_ns.load() == 0; });
  }
  void AwaitUnits(uint64_t units) {
    Await([&] { return agent_.task->units_done.load() >= units; });
  }

  bool IsGroupPopulated() const {
    return ReadSmallFile(group_.folder() + "/cgroup.events").find("populated 1") !=
           std::string::npos;
  }
  // All processes below the gate, by their states: without those that have ended.
  std::string States() const {
    std::string states;
    for (const ProcessSight& sight : ProcessTree(gate_).Look()) {
      if (sight.state != 'Z' && sight.state != 'X') states += sight.state;
    }
    return states;
  }
  // Every process stands still: also one that waits for a child that does (D, of vfork).
  bool IsHeld() const {
    if (GetParam() == Way::kFreezer) {
      return ReadSmallFile(group_.folder() + "/cgroup.events").find("frozen 1") !=
             std::string::npos;
    }
    const std::string states = States();
    return states.find_first_not_of("TtD") == std::string::npos;
  }
  static bool IsAlive(pid_t pid) {
    ProcessSight sight;
    const bool is_there =
        ParseProcessSight(ReadSmallFile("/proc/" + std::to_string(pid) + "/stat"), &sight);
    return is_there && sight.state != 'Z' && sight.state != 'X';
  }
  pid_t PidIn(const std::string& name) {
    Await([&] { return ContentOf(name).find('\n') != std::string::npos; });
    return std::stoi(ContentOf(name));
  }

  // How the gate ended: "exit 3", "signal 9".
  std::string AwaitEnd() {
    int status = 0;
    Await([&] { return waitpid(gate_, &status, WNOHANG) == gate_; });
    gate_ = 0;
    if (WIFSIGNALED(status)) return "signal " + std::to_string(WTERMSIG(status));
    return "exit " + std::to_string(WEXITSTATUS(status));
  }

  FakeAgent agent_;
  TestGroup group_;
  std::string folder_;
  pid_t gate_ = 0;
};

TEST_P(ProcessRunTest, ProgramDoesNothingBeforeTheFirstBubble) {
  Start("echo here > $AT/here");
  FakeAgent::Await(agent_.shared().mapped, 1);
  Await([&] { return !States().empty() && IsHeld(); });
  EXPECT_FALSE(Has("here"));
  OpenBubble();
  EXPECT_EQ(AwaitEnd(), "exit 0");
  EXPECT_EQ(ContentOf("here"), "here\n");
}

TEST_P(ProcessRunTest, EndsAsTheProgramDoes) {
  OpenBubble();
  Start("exit 3");
  EXPECT_EQ(AwaitEnd(), "exit 3");
  Start("kill -11 $$");
  EXPECT_EQ(AwaitEnd(), "signal 11");
  StartCommand({"no-such-program"});
  EXPECT_EQ(AwaitEnd(), "exit 127");
}

TEST_P(ProcessRunTest, ChainOfProgramsIsOneProgram) {
  OpenBubble();
  Start("exec sh -c 'exec sh -c \"echo $PPID > $AT/parent; exit 5\"'");
  const pid_t gate = gate_;
  EXPECT_EQ(AwaitEnd(), "exit 5");
  EXPECT_EQ(ContentOf("parent"), std::to_string(gate) + "\n");
}

TEST_P(ProcessRunTest, RunsInTheNextBubbleWhereItWasStopped) {
  Start("i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done; exit 6");
  uint64_t bubbles = 0;
  int status = 0;
  Await([&] {
    const uint64_t units = agent_.task->units_done.load();
    OpenBubble();
    ++bubbles;
    bool is_over = false;
    Await([&] {
      is_over = waitpid(gate_, &status, WNOHANG) == gate_;
      return is_over || agent_.task->units_done.load() > units;
    });
    CloseBubble();
    return is_over;
  });
  gate_ = 0;
  EXPECT_EQ(WEXITSTATUS(status), 6);
  EXPECT_GT(bubbles, 3u);
}

TEST_P(ProcessRunTest, ScriptThatForksAllTheTimeStandsStillBetweenBubbles) {
  Start("while :; do /bin/true; (/bin/true; /bin/true); echo x >> $AT/count; done");
  for (int bubble = 0; bubble < 5; ++bubble) {
    const std::string before = ContentOf("count");
    OpenBubble();
    Await([&] { return ContentOf("count").size() > before.size() + 20; });
    EndBubble();
    Await([&] { return IsHeld(); });
  }
}

TEST_P(ProcessRunTest, DaemonsAndTheirChildrenStandStillToo) {
  // Double forks, sessions of their own, an empty environment.
  Start(
      "for i in 1 2 3; do"
      "  (setsid env -i AT=$AT I=$i sh -c '"
      "    while :; do echo x >> $AT/daemon$I; /bin/true; done' &);"
      "done; while :; do :; done");
  OpenBubble();
  for (const char* name : {"daemon1", "daemon2", "daemon3"}) Await([&] { return Has(name); });
  EndBubble();
  Await([&] { return IsHeld(); });
  EXPECT_GE(States().size(), 4u);
}

TEST_P(ProcessRunTest, ProcessThatIgnoresSignalsStandsStillToo) {
  Start("trap '' TERM TSTP INT HUP CONT; echo $$ > $AT/pid; while :; do :; done");
  OpenBubble();
  PidIn("pid");
  EndBubble();
  Await([&] { return IsHeld(); });
}

TEST_P(ProcessRunTest, BurstOfForksStandsStill) {
  // Each process makes two, to a depth of 6.
  std::ofstream(PathOf("burst.sh")) << "[ $1 -eq 0 ] || {\n"
                                       "sh $AT/burst.sh $(($1 - 1)) &\n"
                                       "sh $AT/burst.sh $(($1 - 1)) &\n"
                                       "}\n"
                                       "echo x >> $AT/count\n"
                                       "while :; do :; done\n";
  Start("exec sh $AT/burst.sh 6");
  OpenBubble();
  // In the midst of it.
  Await([&] { return ContentOf("count").size() >= 20; });
  EndBubble();
  Await([&] { return IsHeld(); });
}

TEST_P(ProcessRunTest, SigtermReachesAProgramThatIsHeld) {
  Start("trap 'echo bye > $AT/bye; exit 7' TERM; echo $$ > $AT/pid; while :; do /bin/true; done");
  OpenBubble();
  PidIn("pid");
  EndBubble();
  kill(gate_, SIGTERM);
  EXPECT_EQ(AwaitEnd(), "exit 7");
  EXPECT_EQ(ContentOf("bye"), "bye\n");
}

TEST_P(ProcessRunTest, StopOfAgentdReachesAProgramThatIsHeld) {
  Start("trap 'exit 8' TERM; echo $$ > $AT/pid; while :; do /bin/true; done");
  OpenBubble();
  PidIn("pid");
  EndBubble();
  agent_.SendStop();
  EXPECT_EQ(AwaitEnd(), "exit 8");
}

TEST_P(ProcessRunTest, ProgramThatIsKilledInsideAStopEndsTheAttempt) {
  Start("echo $$ > $AT/pid; while :; do :; done");
  OpenBubble();
  const pid_t pid = PidIn("pid");
  EndBubble();
  kill(pid, SIGKILL);
  EXPECT_EQ(AwaitEnd(), "signal 9");
}

TEST_P(ProcessRunTest, NothingOutlivesTheProgram) {
  OpenBubble();
  Start(
      "(setsid env -i sh -c 'echo $$ > '$AT'/daemon; while :; do :; done' &);"
      "while [ ! -s $AT/daemon ]; do :; done; exit 0");
  EXPECT_EQ(AwaitEnd(), "exit 0");
  const pid_t daemon = PidIn("daemon");
  Await([&] { return !IsAlive(daemon); });
}

TEST_P(ProcessRunTest, WhoeverContinuesItsProcessesDoesNotMakeItRun) {
  Start("echo $$ > $AT/pid; while :; do echo x >> $AT/count; done");
  OpenBubble();
  const pid_t pid = PidIn("pid");
  EndBubble();
  // As agentd's ladder does: all stop, the gate alone is continued.
  kill(pid, SIGSTOP);
  kill(gate_, SIGSTOP);
  kill(gate_, SIGCONT);
  const size_t before = ContentOf("count").size();
  // The gate lives: it makes the program go on in the next bubble, and not before.
  OpenBubble();
  Await([&] { return ContentOf("count").size() > before; });
  EndBubble();
  Await([&] { return IsHeld(); });
}

TEST_P(ProcessRunTest, UnitsHaveTheCpuTimeOfAllProcesses) {
  const SystemClock clock;
  Start("while :; do /bin/true; done");
  OpenBubble();
  AwaitUnits(10);
  const uint64_t begin_ns = agent_.signal->begin_ns.load();
  EndBubble();
  uint64_t cpu_ns = 0;
  uint64_t wall_ns = 0;
  for (uint64_t i = 0; i < agent_.task->units.written.load(); ++i) {
    uint64_t words[kUnitWords];
    ASSERT_TRUE(agent_.task->units.Read(i, words));
    const UnitRecord unit = UnpackUnit(words);
    EXPECT_GE(unit.start_ns, begin_ns);
    cpu_ns += unit.cpu_ns;
    wall_ns += unit.end_ns - unit.start_ns;
  }
  EXPECT_GT(cpu_ns, 0u);
  // One process at a time, on whichever cores; ticks of ended children are 10 ms.
  EXPECT_LT(cpu_ns, 2 * wall_ns + 40 * kMs);
}

TEST_P(ProcessRunTest, ProgramNeverRunsWhenAgentdDoesNotKnowTheAttempt) {
  agent_.shared().code.store(static_cast<uint32_t>(AttachCode::kUnknown));
  OpenBubble();
  Start("echo here > $AT/here");
  EXPECT_EQ(AwaitEnd(), "exit 125");
  EXPECT_FALSE(Has("here"));
}

INSTANTIATE_TEST_SUITE_P(Ways, ProcessRunTest, testing::Values(Way::kSignals, Way::kFreezer),
                         [](const auto& way) {
                           return way.param == Way::kSignals ? "Signals" : "Freezer";
                         });

}  // namespace
}  // namespace pipefill::sdk
