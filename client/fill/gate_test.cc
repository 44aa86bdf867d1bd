#include "client/fill/gate.h"

#include <optional>

#include "client/testing/fakes.h"
#include "client/testing/test_page.h"
#include "gtest/gtest.h"
#include "rapidcheck.h"
#include "rapidcheck/gtest.h"

namespace pipefill::sdk {
namespace {

constexpr uint64_t kUs = 1'000;
constexpr uint64_t kMs = 1'000'000;
constexpr uint32_t kSlot = 2;
constexpr uint32_t kGeneration = 6;

// A gate on a device whose bubble of kSlot takes units up to 1.024 ms, until 3 ms after its begin.
class GateTest : public testing::Test {
 protected:
  GateTest() : futex_(clock_), gate_(window_.get(), clock_, futex_) {
    OfferBubble(window_.get(), kSlot, 1024 * kUs, 3 * kMs);
    window_->heartbeat_ns.store(clock_.now_ns);
    window_->signal_generation.store(kGeneration);
    gate_.SetSignal(signal_.get(), kGeneration);
  }

  void OpenBubble(uint32_t slot = kSlot, uint64_t iteration = 1) {
    signal_->slot.store(slot);
    signal_->begin_ns.store(clock_.now_ns);
    signal_->iteration.store(iteration);
    signal_->seq.fetch_add(1);
  }
  void CloseBubble() { signal_->seq.fetch_add(1); }
  GateAnswer TryStart(uint64_t estimate_ns = kMs) { return gate_.TryStart(estimate_ns, &unit_); }

  TestSignalPage signal_;
  TestWindowPage window_;
  FakeClock clock_;
  FakeFutex futex_;
  Gate gate_;
  UnitRecord unit_;
};

TEST_F(GateTest, StartsAUnitInAnOfferedBubbleAndSaysWhatItCompared) {
  OpenBubble(kSlot, 12);
  const uint64_t begin_ns = clock_.now_ns;
  clock_.now_ns += 2 * kMs;

  ASSERT_EQ(TryStart(), GateAnswer::kStarted);
  EXPECT_EQ(unit_.start_ns, begin_ns + 2 * kMs);
  EXPECT_EQ(unit_.bubble_begin_ns, begin_ns);
  EXPECT_EQ(unit_.iteration, 12u);
  EXPECT_EQ(unit_.latest_start_ns, 3 * kMs);
  EXPECT_EQ(unit_.estimate_ns, kMs);
  EXPECT_EQ(unit_.seq, 1u);
  EXPECT_EQ(unit_.seq_after, 1u);
  EXPECT_EQ(unit_.slot, kSlot);
  EXPECT_EQ(unit_.generation, kGeneration);
}

TEST_F(GateTest, IsClosedWhileNoBubbleIsOpen) {
  EXPECT_EQ(TryStart(), GateAnswer::kClosed);
  OpenBubble();
  CloseBubble();
  EXPECT_EQ(TryStart(), GateAnswer::kClosed);
}

TEST_F(GateTest, StartsAtTheLatestStartAndDeniesOneNanosecondLater) {
  OpenBubble();
  clock_.now_ns += 3 * kMs;
  EXPECT_EQ(TryStart(), GateAnswer::kStarted);
  clock_.now_ns += 1;
  EXPECT_EQ(TryStart(), GateAnswer::kClosed);  // a unit ran in this bubble: nothing was denied

  CloseBubble();
  OpenBubble();
  clock_.now_ns += 3 * kMs + 1;
  EXPECT_EQ(TryStart(), GateAnswer::kDenied);
}

TEST_F(GateTest, DeniesAUnitThatIsTooLongForTheBubbleOncePerBubble) {
  OpenBubble();
  EXPECT_EQ(TryStart(2 * kMs), GateAnswer::kDenied);
  EXPECT_EQ(TryStart(2 * kMs), GateAnswer::kClosed);
  CloseBubble();
  OpenBubble();
  EXPECT_EQ(TryStart(2 * kMs), GateAnswer::kDenied);
}

TEST_F(GateTest, DoesNotCountABubbleThatIsNotOfferedAsDenied) {
  OpenBubble(kSlot + 1);
  EXPECT_EQ(TryStart(), GateAnswer::kClosed);
  CloseBubble();
  OpenBubble(kNoSlot);
  EXPECT_EQ(TryStart(), GateAnswer::kClosed);
  CloseBubble();
  OpenBubble(UINT32_MAX);
  EXPECT_EQ(TryStart(), GateAnswer::kClosed);
}

TEST_F(GateTest, IsClosedWhileParkedHeldOutReportingOrWithoutHeartbeat) {
  OpenBubble();
  window_->parked.store(1);
  EXPECT_EQ(TryStart(), GateAnswer::kClosed);
  window_->parked.store(0);
  window_->hold_out_one_in.store(1);
  EXPECT_EQ(TryStart(), GateAnswer::kClosed);
  window_->hold_out_one_in.store(0);
  window_->mode.store(static_cast<uint32_t>(FillMode::kReport));
  EXPECT_EQ(TryStart(), GateAnswer::kClosed);
  window_->mode.store(static_cast<uint32_t>(FillMode::kFill));
  window_->heartbeat_ns.store(clock_.now_ns - kHeartbeatStaleNs - 1);
  EXPECT_EQ(TryStart(), GateAnswer::kClosed);
  window_->heartbeat_ns.store(clock_.now_ns);
  EXPECT_EQ(TryStart(), GateAnswer::kStarted);
}

TEST_F(GateTest, DeniesABubbleThatClaimsToBeginInTheFuture) {
  OpenBubble();
  signal_->begin_ns.store(clock_.now_ns + 1);
  EXPECT_EQ(TryStart(), GateAnswer::kDenied);
}

// A clock that lets the bubble end at the moment when the gate takes start_ns.
class EndingClock final : public Clock {
 public:
  EndingClock(FakeClock& clock, SignalPage* signal) : clock_(clock), signal_(signal) {}
  uint64_t NowNs() const override {
    signal_->seq.fetch_add(1);
    return clock_.NowNs();
  }
  uint64_t ProcessCpuNs() const override { return 0; }

 private:
  FakeClock& clock_;
  SignalPage* const signal_;
};

TEST_F(GateTest, DoesNotStartInABubbleThatEndedWhileItDecided) {
  EndingClock ending(clock_, signal_.get());
  Gate gate(window_.get(), ending, futex_);
  gate.SetSignal(signal_.get(), kGeneration);
  OpenBubble();
  EXPECT_EQ(gate.TryStart(kMs, &unit_), GateAnswer::kClosed);
}

TEST_F(GateTest, IsClosedWhileAgentdMeansAnotherSignalPage) {
  OpenBubble();
  window_->signal_generation.store(kGeneration + 1);
  EXPECT_TRUE(gate_.needs_signal());
  EXPECT_EQ(TryStart(), GateAnswer::kClosed);

  gate_.SetSignal(signal_.get(), kGeneration + 1);
  EXPECT_FALSE(gate_.needs_signal());
  EXPECT_EQ(TryStart(), GateAnswer::kStarted);
}

TEST_F(GateTest, IsClosedWithoutARank) {
  gate_.SetSignal(nullptr, kGeneration);
  EXPECT_EQ(TryStart(), GateAnswer::kClosed);
}

TEST_F(GateTest, KnowsWhetherTheBubbleOfAUnitIsStillOpen) {
  OpenBubble();
  ASSERT_EQ(TryStart(), GateAnswer::kStarted);
  EXPECT_TRUE(gate_.IsStillOpen(unit_));
  CloseBubble();
  EXPECT_FALSE(gate_.IsStillOpen(unit_));
}

TEST_F(GateTest, TakesTheBubbleForOverWhenTheSignalPageWasReplaced) {
  OpenBubble();
  ASSERT_EQ(TryStart(), GateAnswer::kStarted);
  gate_.SetSignal(signal_.get(), kGeneration + 1);
  EXPECT_FALSE(gate_.IsStillOpen(unit_));
}

TEST_F(GateTest, TakesTheLongestUnitThatStillFits) {
  OpenBubble();
  const std::optional<Opening> opening = gate_.Look();
  ASSERT_TRUE(opening.has_value());
  EXPECT_TRUE(gate_.Fits(*opening, 1024 * kUs));
  EXPECT_FALSE(gate_.Fits(*opening, 1024 * kUs + 1));
}

// What agentd says when the main job stands still.
class FailureTest : public GateTest {
 protected:
  void BeginFailure() {
    window_->failure_unit_max_ns.store(2 * kMs);
    window_->failure_seq.store(signal_->seq.load());
    window_->failure_begin_ns.store(clock_.now_ns);
    clock_.now_ns += 50 * kMs;
  }
};

TEST_F(FailureTest, StartsUnitsUpToThePublishedLengthWithoutAnyOpenBubble) {
  OpenBubble();
  CloseBubble();
  BeginFailure();
  EXPECT_EQ(TryStart(2 * kMs + 1), GateAnswer::kDenied);
  EXPECT_EQ(TryStart(2 * kMs), GateAnswer::kStarted);
  EXPECT_EQ(unit_.slot, kFailureSlot);
  EXPECT_EQ(unit_.bubble_begin_ns, window_->failure_begin_ns.load());
  EXPECT_EQ(unit_.start_ns - unit_.bubble_begin_ns, unit_.latest_start_ns);
  EXPECT_EQ(unit_.seq, 2u);
  EXPECT_EQ(unit_.seq_after, 2u);
}

TEST_F(FailureTest, StartsUnitsInABubbleThatIsOverdue) {
  OpenBubble();
  BeginFailure();
  EXPECT_EQ(TryStart(), GateAnswer::kStarted);
  EXPECT_EQ(unit_.slot, kFailureSlot);
}

TEST_F(FailureTest, HoldOutsDoNotApply) {
  window_->hold_out_one_in.store(1);
  BeginFailure();
  EXPECT_EQ(TryStart(), GateAnswer::kStarted);
}

TEST_F(FailureTest, EndsWithTheNextEdgeOrWhenAgentdTakesItBack) {
  BeginFailure();
  ASSERT_EQ(TryStart(), GateAnswer::kStarted);
  EXPECT_TRUE(gate_.IsStillOpen(unit_));
  window_->failure_begin_ns.store(0);
  EXPECT_FALSE(gate_.IsStillOpen(unit_));
  EXPECT_EQ(TryStart(), GateAnswer::kClosed);

  BeginFailure();
  ASSERT_EQ(TryStart(), GateAnswer::kStarted);
  signal_->seq.fetch_add(2);
  EXPECT_FALSE(gate_.IsStillOpen(unit_));
  EXPECT_EQ(TryStart(), GateAnswer::kClosed);
}

TEST_F(FailureTest, IsClosedWhileParkedReportingOrWithoutHeartbeat) {
  BeginFailure();
  window_->parked.store(1);
  EXPECT_EQ(TryStart(), GateAnswer::kClosed);
  window_->parked.store(0);
  window_->mode.store(static_cast<uint32_t>(FillMode::kReport));
  EXPECT_EQ(TryStart(), GateAnswer::kClosed);
  window_->mode.store(static_cast<uint32_t>(FillMode::kFill));
  window_->heartbeat_ns.store(clock_.now_ns - kHeartbeatStaleNs - 1);
  EXPECT_EQ(TryStart(), GateAnswer::kClosed);
}

TEST_F(FailureTest, IsNotTakenFromAPageThatClaimsTheFuture) {
  BeginFailure();
  window_->failure_begin_ns.store(clock_.now_ns + 1);
  EXPECT_EQ(TryStart(), GateAnswer::kClosed);
}

TEST_F(FailureTest, DoesNotStartOnceTheMainJobMovedWhileItDecided) {
  EndingClock ending(clock_, signal_.get());
  Gate gate(window_.get(), ending, futex_);
  gate.SetSignal(signal_.get(), kGeneration);
  BeginFailure();
  EXPECT_EQ(gate.TryStart(kMs, &unit_), GateAnswer::kClosed);
}

TEST_F(GateTest, WaitsAtTheSignalWordForAsLongAsItIsTold) {
  TryStart();
  EXPECT_EQ(gate_.Wait(5 * kMs), WaitResult::kTimedOut);
  EXPECT_EQ(futex_.waited_at, &signal_->seq);
  EXPECT_EQ(futex_.last_timeout_ns, 5 * kMs);
}

TEST_F(GateTest, DoesNotSleepThroughABubbleThatOpenedAfterItLooked) {
  TryStart();
  OpenBubble();
  EXPECT_EQ(gate_.Wait(5 * kMs), WaitResult::kWoken);
  EXPECT_EQ(futex_.waits, 0);
}

TEST_F(GateTest, SleepsUntilTheEarliestStartOfAnOpenBubble) {
  window_->entries[kSlot].earliest_start_ns.store(200 * kUs);
  OpenBubble();
  clock_.now_ns += 50 * kUs;
  EXPECT_EQ(TryStart(), GateAnswer::kClosed);  // and not denied
  const uint64_t before_ns = clock_.now_ns;
  EXPECT_EQ(gate_.Wait(100 * kMs), WaitResult::kTimedOut);
  EXPECT_EQ(clock_.now_ns - before_ns, 150 * kUs);
  EXPECT_EQ(TryStart(), GateAnswer::kStarted);
  CloseBubble();
  EXPECT_EQ(TryStart(), GateAnswer::kClosed);
  EXPECT_EQ(gate_.Wait(kMs), WaitResult::kTimedOut);
  EXPECT_EQ(clock_.now_ns - before_ns, 150 * kUs + kMs);
}

TEST_F(GateTest, WaitsForANewSignalPageWhileItHasNoneThatCounts) {
  gate_.SetSignal(nullptr, kGeneration);
  gate_.Wait(5 * kMs);
  EXPECT_EQ(futex_.waited_at, &window_->signal_generation);

  gate_.SetSignal(signal_.get(), kGeneration - 1);
  gate_.Wait(5 * kMs);
  EXPECT_EQ(futex_.waited_at, &window_->signal_generation);
}

TEST_F(GateTest, SpinsAsLongAsTheWindowPageSaysBeforeItSleeps) {
  window_->spin_ns.store(50 * kUs);
  futex_.relax_ns = kUs;
  TryStart();
  gate_.Wait(kMs);
  EXPECT_EQ(futex_.relaxes, 50);
  EXPECT_EQ(futex_.waits, 1);
}

TEST_F(GateTest, NeverSpinsLongerThanItsOwnLimit) {
  window_->spin_ns.store(UINT64_MAX);
  futex_.relax_ns = 100 * kUs;
  TryStart();
  gate_.Wait(kMs);
  EXPECT_EQ(futex_.relaxes, 10);
}

// The rule that the trace checker asserts, for any pages and times.
RC_GTEST_PROP(GatePropertyTest, StartsOnlyWhatAllRulesAllow, ()) {
  TestSignalPage signal;
  TestWindowPage window;
  FakeClock clock;
  FakeFutex futex(clock);
  Gate gate(window.get(), clock, futex);
  gate.SetSignal(signal.get(), 1);
  const auto small = rc::gen::inRange<int64_t>(0, 5);
  const int64_t latest_start_ns = *small - 1;
  const uint64_t unit_ns = uint64_t{1000} << *rc::gen::inRange(0, 16);
  const uint64_t estimate_ns = *rc::gen::inRange<uint64_t>(1, 70'000'000);
  OfferBubble(window.get(), kSlot, unit_ns, latest_start_ns);
  window->entries[kSlot].offered.store(*rc::gen::arbitrary<bool>());
  window->parked.store(*rc::gen::arbitrary<bool>());
  window->mode.store(static_cast<uint32_t>(*rc::gen::inRange(1, 4)));
  window->signal_generation.store(static_cast<uint32_t>(*rc::gen::inRange(0, 3)));
  window->heartbeat_ns.store(clock.now_ns - (*rc::gen::arbitrary<bool>() ? 2'000'000'000 : 0));
  signal->slot.store(static_cast<uint32_t>(*rc::gen::inRange(1, 4)));
  const auto elapsed_ns = static_cast<uint64_t>(*small);
  signal->begin_ns.store(clock.now_ns - elapsed_ns);
  signal->seq.store(static_cast<uint32_t>(*rc::gen::inRange(0, 4)));

  UnitRecord unit;
  const bool is_started = gate.TryStart(estimate_ns, &unit) == GateAnswer::kStarted;

  const bool is_fitting = latest_start_ns >= static_cast<int64_t>(elapsed_ns);
  const uint64_t longest_ns = std::min(unit_ns, uint64_t{1000} << 15);
  uint64_t rounded_ns = 1000;
  while (rounded_ns < estimate_ns) rounded_ns *= 2;
  const bool expected = (signal->seq.load() & 1) == 1 && signal->slot.load() == kSlot &&
                        window->signal_generation.load() == 1 && rounded_ns <= longest_ns &&
                        is_fitting && window->entries[kSlot].offered.load() == 1 &&
                        IsFillAllowed(*window, clock.now_ns, 0);
  RC_ASSERT(is_started == expected);
}

}  // namespace
}  // namespace pipefill::sdk
