// The process gate with a program that only notes what is done to it, at the gate of a real fill
// task in a FakeAgent's window.
#include "client/process/process_gate.h"

#include <signal.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "client/testing/fake_agent.h"
#include "client/testing/fakes.h"
#include "gtest/gtest.h"

namespace pipefill::sdk {
namespace {

constexpr uint64_t kMs = 1'000'000;
constexpr uint32_t kSlot = 4;

// A program and its hold in one: notes "go", "stop", "end 15", "kill", "interference".
class FakeProgram final : public Hold, public Program, public Notices {
 public:
  explicit FakeProgram(FakeClock& clock) : clock_(clock) {}

  int EnterInChild() override { return 0; }
  void OnStarted(pid_t) override {}
  void GoOn() override {
    is_running = true;
    notes.emplace_back("go");
  }
  bool Stop() override {
    clock_.now_ns += stop_ns + starved_ns;
    clock_.cpu_ns += stop_ns;
    is_running = false;
    notes.emplace_back("stop");
    return stops_missed-- <= 0;
  }
  void OnInterference() override { notes.emplace_back("interference"); }
  uint64_t CpuNs() override { return 0; }
  void Kill() override { notes.emplace_back("kill"); }

  bool Reap() override { return is_over; }
  void Send(int signal) override {
    notes.push_back("end " + std::to_string(signal));
    if (ends_on_signal) is_over = true;
  }

  int TakeEndSignal() override { return std::exchange(end_signal, 0); }
  bool TakeContinued() override { return std::exchange(is_continued, false); }
  bool has_any() const override { return end_signal != 0 || is_continued || has_child; }
  void ForgetChild() override { has_child = false; }
  void Wait(uint64_t timeout_ns) override {
    clock_.now_ns += timeout_ns;
    if (on_free_wait) on_free_wait();
  }

  bool is_running = false;
  bool is_over = false;
  bool ends_on_signal = true;
  int end_signal = 0;
  bool is_continued = false;
  bool has_child = false;
  int stops_missed = 0;  // that do not catch everything
  uint64_t stop_ns = 200'000;
  uint64_t starved_ns = 0;  // of a stop, without a core
  std::function<void()> on_free_wait;
  std::vector<std::string> notes;

 private:
  FakeClock& clock_;
};

using Notes = std::vector<std::string>;

class ProcessGateTest : public testing::Test {
 protected:
  ProcessGateTest() : futex_(clock_), program_(clock_) {
    // Any unit must end within 8 ms of the begin, as far as the ladder reaches.
    OfferBubble(agent_.window.get(), kSlot, 64 * kMs, 0);
    for (size_t i = 0; i < kUnitLadder; ++i) {
      const auto length_ns = static_cast<int64_t>(agent_.window->unit_ns[i].load());
      agent_.window->entries[kSlot].latest_start_ns[i].store(
          std::max(kNever, static_cast<int64_t>(8 * kMs) - length_ns));
    }
    agent_.window->heartbeat_ns.store(UINT64_MAX);
  }

  void Attach() {
    FakeEnvironment environment;
    environment.variables = {{"PIPEFILL_SOCKET", agent_.socket()},
                             {"PIPEFILL_JOB", "17"},
                             {"PIPEFILL_ATTEMPT", "2"},
                             {"PIPEFILL_FENCE", "3"}};
    Error error;
    task_ = FillTask::Attach({.clock = clock_, .futex = futex_, .unit_hint_ns = 200'000}, "",
                             environment, &error);
  }
  bool Run() {
    ProcessGate gate({.task = *task_,
                      .hold = program_,
                      .program = program_,
                      .notices = program_,
                      .clock = clock_});
    return gate.Run();
  }
  void OpenBubble() {
    bubble_begin_ns_ = clock_.now_ns;
    agent_.signal->slot.store(kSlot);
    agent_.signal->begin_ns.store(clock_.now_ns);
    agent_.signal->seq.fetch_add(1);
  }
  void CloseBubble() { agent_.signal->seq.fetch_add(1); }
  std::vector<UnitRecord> Units() const {
    std::vector<UnitRecord> units;
    for (uint64_t i = 0; i < agent_.task->units.written.load(); ++i) {
      uint64_t words[kUnitWords];
      if (agent_.task->units.Read(i, words)) units.push_back(UnpackUnit(words));
    }
    return units;
  }

  FakeAgent agent_;
  FakeClock clock_;
  FakeFutex futex_;
  FakeProgram program_;
  std::unique_ptr<FillTask> task_;
  uint64_t bubble_begin_ns_ = 0;
};

TEST_F(ProcessGateTest, RunsTheProgramFromABubblesBeginUntilItsStopJustFits) {
  Attach();
  agent_.shared().has_signal.store(1);
  agent_.window->signal_generation.fetch_add(1);
  uint64_t stopped_ns = 0;
  futex_.on_wait = [&] {
    if (program_.is_running) {
      clock_.now_ns += futex_.last_timeout_ns;
      return WaitResult::kTimedOut;
    }
    if (program_.notes.empty()) {
      OpenBubble();
      return WaitResult::kWoken;
    }
    if (stopped_ns == 0) stopped_ns = clock_.now_ns;
    program_.is_over = true;
    program_.has_child = true;
    return WaitResult::kInterrupted;
  };
  EXPECT_TRUE(Run());
  EXPECT_EQ(program_.notes, (Notes{"go", "stop", "kill"}));
  // Not a slice of half a millisecond more would have fitted.
  EXPECT_LE(stopped_ns - bubble_begin_ns_, 8 * kMs);
  EXPECT_GT(stopped_ns - bubble_begin_ns_, 8 * kMs - 500'000 - program_.stop_ns);
}

TEST_F(ProcessGateTest, SlicesAreUnitsWithoutGapsAndTheLastOneHoldsTheStop) {
  Attach();
  agent_.shared().has_signal.store(1);
  agent_.window->signal_generation.fetch_add(1);
  futex_.on_wait = [&] {
    if (program_.is_running) {
      clock_.now_ns += futex_.last_timeout_ns;
      return WaitResult::kTimedOut;
    }
    if (program_.notes.empty()) {
      OpenBubble();
      return WaitResult::kWoken;
    }
    program_.is_over = true;
    return WaitResult::kInterrupted;
  };
  Run();
  const std::vector<UnitRecord> units = Units();
  ASSERT_GE(units.size(), 3u);
  EXPECT_EQ(units.front().start_ns, bubble_begin_ns_);
  // Half as much again as 4.2 ms is not sure to fit.
  EXPECT_EQ(units.front().estimate_ns, 2 * kMs + program_.stop_ns);
  for (size_t i = 1; i < units.size(); ++i) {
    EXPECT_EQ(units[i].start_ns, units[i - 1].end_ns);
    EXPECT_LE(units[i].start_ns - bubble_begin_ns_, units[i].latest_start_ns);
  }
  EXPECT_EQ(units.back().estimate_ns, 500'000 + program_.stop_ns);
  EXPECT_EQ(units.back().end_ns - units.back().start_ns, 500'000 + program_.stop_ns);
}

TEST_F(ProcessGateTest, StopsAtTheNextLookWhenTheBubbleEndsEarly) {
  Attach();
  agent_.shared().has_signal.store(1);
  agent_.window->signal_generation.fetch_add(1);
  futex_.on_wait = [&] {
    if (program_.is_running) {
      clock_.now_ns += 1 * kMs;
      CloseBubble();
      return WaitResult::kWoken;
    }
    if (program_.notes.empty()) {
      OpenBubble();
      return WaitResult::kWoken;
    }
    program_.is_over = true;
    return WaitResult::kInterrupted;
  };
  Run();
  EXPECT_EQ(program_.notes, (Notes{"go", "stop", "kill"}));
  EXPECT_EQ(Units().size(), 1u);
}

TEST_F(ProcessGateTest, HowLongAStopTookIsLearned) {
  program_.stop_ns = 900'000;
  Attach();
  agent_.shared().has_signal.store(1);
  agent_.window->signal_generation.fetch_add(1);
  int bubbles = 0;
  futex_.on_wait = [&] {
    if (program_.is_running) {
      clock_.now_ns += futex_.last_timeout_ns;
      return WaitResult::kTimedOut;
    }
    if ((agent_.signal->seq.load() & 1) != 0) {
      CloseBubble();
      return WaitResult::kWoken;
    }
    if (++bubbles <= 12) {
      OpenBubble();
      return WaitResult::kWoken;
    }
    program_.is_over = true;
    return WaitResult::kInterrupted;
  };
  Run();
  EXPECT_EQ(Units().back().estimate_ns, 500'000 + 900'000u);
}

TEST_F(ProcessGateTest, WaitingForACoreInOrderToStopTeachesNothing) {
  program_.starved_ns = 5 * kMs;
  Attach();
  agent_.shared().has_signal.store(1);
  agent_.window->signal_generation.fetch_add(1);
  int bubbles = 0;
  futex_.on_wait = [&] {
    if (program_.is_running) {
      clock_.now_ns += futex_.last_timeout_ns;
      return WaitResult::kTimedOut;
    }
    if ((agent_.signal->seq.load() & 1) != 0) {
      CloseBubble();
      return WaitResult::kWoken;
    }
    if (++bubbles <= 12) {
      OpenBubble();
      return WaitResult::kWoken;
    }
    program_.is_over = true;
    return WaitResult::kInterrupted;
  };
  Run();
  EXPECT_EQ(Units().back().estimate_ns, 500'000 + 200'000u);
}

TEST_F(ProcessGateTest, StopThatDidNotCatchEverythingIsTriedAgainAtOnce) {
  program_.stops_missed = 3;
  Attach();
  agent_.shared().has_signal.store(1);
  agent_.window->signal_generation.fetch_add(1);
  futex_.on_wait = [&] {
    if (program_.is_running) {
      CloseBubble();
      return WaitResult::kWoken;
    }
    if (program_.notes.empty()) {
      OpenBubble();
      return WaitResult::kWoken;
    }
    program_.is_over = true;
    return WaitResult::kInterrupted;
  };
  EXPECT_TRUE(Run());
  EXPECT_EQ(program_.notes, (Notes{"go", "stop", "stop", "stop", "stop", "kill"}));
}

TEST_F(ProcessGateTest, RequestToEndGoesToTheProgramWhichThenRunsFreely) {
  Attach();
  program_.end_signal = SIGTERM;
  program_.ends_on_signal = false;
  program_.on_free_wait = [&] {
    EXPECT_TRUE(program_.is_running);
    program_.is_over = true;
  };
  EXPECT_TRUE(Run());
  EXPECT_EQ(program_.notes, (Notes{"end 15", "go", "kill"}));
}

TEST_F(ProcessGateTest, WhatAgentdAsksOverTheConnectionIsASigtermToo) {
  Attach();
  agent_.SendStop();
  EXPECT_TRUE(Run());
  EXPECT_EQ(program_.notes, (Notes{"end 15", "go", "kill"}));
}

TEST_F(ProcessGateTest, ProgramThatEndsWhileItIsHeldIsNoticed) {
  Attach();
  futex_.on_wait = [&] {
    program_.is_over = true;
    program_.has_child = true;
    return WaitResult::kInterrupted;
  };
  EXPECT_TRUE(Run());
  EXPECT_EQ(program_.notes, (Notes{"kill"}));
}

TEST_F(ProcessGateTest, GateThatWasStoppedItselfStopsTheProgramFirst) {
  Attach();
  agent_.shared().has_signal.store(1);
  agent_.window->signal_generation.fetch_add(1);
  futex_.on_wait = [&] {
    if (program_.is_running) {
      program_.is_continued = true;
      return WaitResult::kInterrupted;
    }
    if (program_.notes.empty()) {
      OpenBubble();
      return WaitResult::kWoken;
    }
    program_.is_over = true;
    return WaitResult::kInterrupted;
  };
  agent_.window->parked.store(0);
  Run();
  ASSERT_GE(program_.notes.size(), 3u);
  EXPECT_EQ(program_.notes[1], "stop");
  EXPECT_EQ(program_.notes[2], "interference");
}

TEST_F(ProcessGateTest, RefusedTaskNeverLetsTheProgramRun) {
  task_ = FillTask::Refuse({.clock = clock_, .futex = futex_});
  EXPECT_FALSE(Run());
  EXPECT_EQ(program_.notes, (Notes{"kill"}));
}

TEST_F(ProcessGateTest, WithoutAgentdTheProgramRunsFreely) {
  task_ = std::make_unique<FillTask>(FillTask::Options{.clock = clock_, .futex = futex_});
  program_.on_free_wait = [&] { program_.is_over = true; };
  EXPECT_TRUE(Run());
  EXPECT_EQ(program_.notes, (Notes{"go", "kill"}));
}

}  // namespace
}  // namespace pipefill::sdk
