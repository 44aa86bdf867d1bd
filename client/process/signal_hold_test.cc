#include "client/process/signal_hold.h"

#include <signal.h>

#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "client/testing/fakes.h"
#include "gtest/gtest.h"

namespace pipefill::sdk {
namespace {

// Processes that stop when they get the core (at a Pause), and do what a test says before.
class FakeSystem final : public ProcessSystem {
 public:
  explicit FakeSystem(FakeClock& clock) : clock_(clock) {}

  std::vector<ProcessSight> Look() override {
    ++looks;
    if (on_look) on_look();
    std::vector<ProcessSight> sights;
    for (const auto& [pid, state] : states) {
      sights.push_back({.pid = pid, .state = state, .children_cpu_ns = children_cpu_ns[pid]});
    }
    return sights;
  }
  void Send(pid_t pid, int signal) override {
    sent.emplace_back(pid, signal);
    if (signal == SIGCONT) states[pid] = 'R';
    if (signal == SIGSTOP && is_obeyed) stopping_.push_back(pid);
    if (signal == SIGKILL) states[pid] = 'Z';
  }
  uint64_t CpuNsOf(pid_t pid) override { return cpu_ns[pid]; }
  uint64_t ReapedCpuNs() override { return reaped_ns; }
  void Pause() override {
    clock_.now_ns += 100'000;
    for (const pid_t pid : stopping_) {
      if (states[pid] == 'R' || states[pid] == 'S') states[pid] = 'T';
    }
    stopping_.clear();
  }

  std::map<pid_t, char> states;
  std::map<pid_t, uint64_t> cpu_ns;
  std::map<pid_t, uint64_t> children_cpu_ns;
  uint64_t reaped_ns = 0;
  bool is_obeyed = true;
  std::function<void()> on_look;
  int looks = 0;
  std::vector<std::pair<pid_t, int>> sent;

 private:
  FakeClock& clock_;
  std::vector<pid_t> stopping_;
};

class SignalHoldTest : public testing::Test {
 protected:
  SignalHoldTest() : system_(clock_), hold_(system_, clock_) {}

  int CountSent(pid_t pid, int signal) const {
    return static_cast<int>(
        std::count(system_.sent.begin(), system_.sent.end(), std::pair(pid, signal)));
  }

  FakeClock clock_;
  FakeSystem system_;
  SignalHold hold_;
};

TEST_F(SignalHoldTest, StopsEveryProcessOnceAndLetsThemGoOn) {
  system_.states = {{11, 'R'}, {12, 'S'}};
  EXPECT_TRUE(hold_.Stop());
  EXPECT_EQ(system_.states, (std::map<pid_t, char>{{11, 'T'}, {12, 'T'}}));
  EXPECT_EQ(CountSent(11, SIGSTOP), 1);
  EXPECT_EQ(CountSent(12, SIGSTOP), 1);
  hold_.GoOn();
  EXPECT_EQ(system_.states, (std::map<pid_t, char>{{11, 'R'}, {12, 'R'}}));
}

TEST_F(SignalHoldTest, CatchesAProcessThatAppearsBetweenTwoLooks) {
  system_.states = {{11, 'R'}};
  system_.on_look = [this] {
    if (system_.looks == 2) system_.states[12] = 'R';
  };
  EXPECT_TRUE(hold_.Stop());
  EXPECT_EQ(system_.states[12], 'T');
}

// Its parent ended during a look, so the look saw neither of them as a child.
TEST_F(SignalHoldTest, CatchesAnOrphanThatALookMissed) {
  system_.states = {{11, 'T'}, {12, 'Z'}};
  system_.on_look = [this] {
    if (system_.looks == 2) system_.states = {{11, 'T'}, {13, 'R'}};
  };
  EXPECT_TRUE(hold_.Stop());
  EXPECT_EQ(system_.states[13], 'T');
}

TEST_F(SignalHoldTest, LeavesAloneWhatTheProgramHasStoppedItself) {
  system_.states = {{11, 'R'}, {12, 'T'}};
  EXPECT_TRUE(hold_.Stop());
  hold_.GoOn();
  EXPECT_EQ(system_.states[12], 'T');
}

TEST_F(SignalHoldTest, AfterInterferenceEverythingThatStandsStillGoesOnAgain) {
  system_.states = {{11, 'R'}};
  EXPECT_TRUE(hold_.Stop());
  system_.states[12] = 'T';
  hold_.OnInterference();
  hold_.GoOn();
  EXPECT_EQ(system_.states, (std::map<pid_t, char>{{11, 'R'}, {12, 'R'}}));
}

TEST_F(SignalHoldTest, EndedProcessesAreStillAndGetNoSignal) {
  system_.states = {{11, 'Z'}};
  EXPECT_TRUE(hold_.Stop());
  EXPECT_TRUE(system_.sent.empty());
}

TEST_F(SignalHoldTest, WaitOfTheKernelCountsAsStillOnceItWasSignalled) {
  system_.states = {{11, 'D'}};
  EXPECT_TRUE(hold_.Stop());
  EXPECT_EQ(CountSent(11, SIGSTOP), 1);
}

TEST_F(SignalHoldTest, GivesUpOnOneThatGetsNoCore) {
  system_.states = {{11, 'R'}};
  system_.is_obeyed = false;
  const uint64_t begin_ns = clock_.now_ns;
  EXPECT_FALSE(hold_.Stop());
  EXPECT_GE(clock_.now_ns - begin_ns, SignalHold::kStopNs);
  // It is told to go on all the same.
  hold_.GoOn();
  EXPECT_EQ(CountSent(11, SIGCONT), 1);
}

TEST_F(SignalHoldTest, CountsCpuTimeOfTheLivingTheirChildrenAndTheDead) {
  system_.states = {{11, 'R'}, {12, 'T'}};
  system_.cpu_ns = {{11, 5'000}, {12, 300}};
  system_.children_cpu_ns = {{11, 10'000'000}};
  system_.reaped_ns = 40;
  EXPECT_EQ(hold_.CpuNs(), 10'005'340u);
  // One is gone and not waited for yet: the sum does not fall.
  system_.states = {{12, 'T'}};
  EXPECT_EQ(hold_.CpuNs(), 10'005'340u);
}

TEST_F(SignalHoldTest, KillsUntilNothingIsLeft) {
  system_.states = {{11, 'T'}, {12, 'R'}};
  system_.on_look = [this] {
    if (system_.looks == 2) system_.states[13] = 'R';
  };
  hold_.Kill();
  EXPECT_EQ(system_.states, (std::map<pid_t, char>{{11, 'Z'}, {12, 'Z'}, {13, 'Z'}}));
}

}  // namespace
}  // namespace pipefill::sdk
