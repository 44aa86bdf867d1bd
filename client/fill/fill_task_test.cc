#include "client/fill/fill_task.h"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/testing/fakes.h"
#include "client/testing/gated_task.h"
#include "client/testing/test_page.h"
#include "gtest/gtest.h"

namespace pipefill::sdk {
namespace {

constexpr uint64_t kUs = 1'000;
constexpr uint64_t kMs = 1'000'000;
constexpr uint64_t kForever = UINT64_MAX;

using Outcome = FillTask::Outcome;

class AloneTest : public testing::Test {
 protected:
  AloneTest() : futex_(clock_), task_({.clock = clock_, .futex = futex_}) {}

  void RunFor(uint64_t wall_ns, uint64_t cpu_ns) {
    clock_.now_ns += wall_ns;
    clock_.cpu_ns += cpu_ns;
  }

  FakeClock clock_;
  FakeFutex futex_;
  FillTask task_;
};

TEST_F(AloneTest, StartsEveryUnitAtOnce) {
  EXPECT_FALSE(task_.is_gated());
  EXPECT_FALSE(task_.is_refused());
  for (int i = 0; i < 100; ++i) ASSERT_EQ(task_.NextUnit(0, kForever), Outcome::kStarted);
  EXPECT_EQ(futex_.waits, 0);
}

TEST_F(AloneTest, CountsCpuTimeInsideUnitsOnly) {
  task_.NextUnit(0, kForever);
  RunFor(3 * kMs, 2 * kMs);
  task_.EndUnit();
  RunFor(100 * kMs, 100 * kMs);
  task_.NextUnit(0, kForever);
  RunFor(5 * kMs, 4 * kMs);
  task_.EndUnit();
  task_.EndUnit();

  EXPECT_EQ(task_.stats().units, 2u);
  EXPECT_EQ(task_.stats().unit_cpu_ns, 6 * kMs);
  EXPECT_EQ(task_.stats().unit_wall_ns, 8 * kMs);
}

TEST_F(AloneTest, EstimatesEveryKindOfUnitByItself) {
  task_.NextUnit(1, kForever);
  RunFor(50 * kMs, 50 * kMs);
  task_.NextUnit(0, kForever);
  RunFor(2 * kMs, 2 * kMs);
  task_.EndUnit();
  EXPECT_EQ(task_.stats().unit_estimate_ns, 2 * kMs);
}

TEST_F(AloneTest, TakesAKindBeyondTheLastForTheLast) {
  EXPECT_EQ(task_.NextUnit(UINT32_MAX, kForever), Outcome::kStarted);
}

TEST_F(AloneTest, ElasticUnitsAreAsLargeAsTheyMay) {
  uint32_t size = 0;
  EXPECT_EQ(task_.NextElastic(0, {.min = 2, .max = 9}, kForever, &size), Outcome::kStarted);
  EXPECT_EQ(size, 9u);
  RunFor(2 * kMs, 2 * kMs);
  task_.EndUnit();
  EXPECT_EQ(task_.stats().units, 1u);
}

class GatedTest : public GatedTask {};

TEST_F(GatedTest, WaitsForABubbleAndStartsInIt) {
  futex_.on_wait = [this] {
    clock_.now_ns += kMs;
    OpenBubble();
    return WaitResult::kWoken;
  };

  EXPECT_TRUE(task_->is_gated());
  EXPECT_EQ(task_->NextUnit(0, kForever), Outcome::kStarted);
  EXPECT_EQ(futex_.waits, 1);
  EXPECT_EQ(futex_.last_timeout_ns, FillTask::kLookAgainNs);
}

TEST_F(GatedTest, StartsNothingInABubbleThatIsClosedToItAlone) {
  turn_->seats[kSeat].closed_slots[kSlot / 64].store(uint64_t{1} << kSlot % 64);
  OpenBubble();
  EXPECT_EQ(task_->NextUnit(0, 0), Outcome::kLater);
  EXPECT_EQ(turn_->seats[kSeat].wants.load(), 0u);
  EXPECT_EQ(task_->stats().bubbles_denied, 0u);

  turn_->seats[kSeat].closed_slots[kSlot / 64].store(uint64_t{1} << (kSlot + 1) % 64);
  EXPECT_EQ(task_->NextUnit(0, kForever), Outcome::kStarted);
  EXPECT_EQ(turn_->seats[kSeat].wants.load(), 1u);
}

TEST_F(GatedTest, ShowsTheUnitInProgressToTheWatchdog) {
  EXPECT_EQ(state(), TaskState::kWaiting);
  OpenBubble();
  task_->NextUnit(0, kForever);
  EXPECT_EQ(state(), TaskState::kInUnit);
  EXPECT_EQ(task_page_->unit_start_ns.load(), clock_.now_ns);
  EXPECT_EQ(task_page_->last_slot.load(), kSlot);
  EXPECT_EQ(task_page_->unit_estimate_ns.load(), kMs);

  RunFor(2 * kMs, 2 * kMs);
  task_->EndUnit();
  EXPECT_EQ(state(), TaskState::kWaiting);
  EXPECT_EQ(task_page_->unit_start_ns.load(), 0u);
  EXPECT_EQ(task_page_->units_done.load(), 1u);
  EXPECT_EQ(task_page_->unit_estimate_ns.load(), 2 * kMs);
}

TEST_F(GatedTest, RecordsEveryUnitWithCpuTimeAndWhatTheGateSaw) {
  OpenBubble();
  const uint64_t begin_ns = clock_.now_ns;
  RunFor(kMs, kMs);
  task_->NextUnit(0, kForever);
  RunFor(3 * kMs, 2 * kMs);
  task_->EndUnit();

  ASSERT_EQ(Units().size(), 1u);
  const UnitRecord unit = Units()[0];
  EXPECT_EQ(unit.start_ns, begin_ns + kMs);
  EXPECT_EQ(unit.end_ns, begin_ns + 4 * kMs);
  EXPECT_EQ(unit.cpu_ns, 2 * kMs);
  EXPECT_EQ(unit.bubble_begin_ns, begin_ns);
  EXPECT_EQ(unit.iteration, 3u);
  EXPECT_EQ(unit.slot, kSlot);
  EXPECT_EQ(unit.generation, 1u);
}

TEST_F(GatedTest, FillsABubbleWithUnitsUntilTheLatestStart) {
  OpenBubble();
  int started = 0;
  while (task_->NextUnit(0, 0) == Outcome::kStarted) {
    ++started;
    RunFor(3 * kMs, 3 * kMs);
  }
  EXPECT_EQ(started, 4);  // at 0, 3, 6 and 9 ms
  EXPECT_EQ(task_->stats().bubbles_denied, 0u);
}

TEST_F(GatedTest, FillsABubbleToItsEndWithElasticUnits) {
  // Any unit must end within 8 ms of the begin, as far as the ladder reaches.
  for (size_t i = 0; i < kUnitLadder; ++i) {
    const auto length_ns = static_cast<int64_t>(window_->unit_ns[i].load());
    window_->entries[kSlot].latest_start_ns[i].store(
        std::max(kNever, static_cast<int64_t>(8 * kMs) - length_ns));
  }
  const auto fill = [this] {
    std::vector<uint32_t> sizes;
    OpenBubble();
    const uint64_t begin_ns = clock_.now_ns;
    uint32_t size = 0;
    while (task_->NextElastic(0, {.min = 1, .max = 32}, 0, &size) == Outcome::kStarted) {
      sizes.push_back(size);
      RunFor(100 * kUs + size * 100 * kUs, 100 * kUs + size * 100 * kUs);
    }
    EXPECT_LE(clock_.now_ns - begin_ns, 8 * kMs);
    CloseBubble();
    return sizes;
  };
  for (int i = 0; i < 10; ++i) fill();
  const uint64_t begin_ns = clock_.now_ns;
  const std::vector<uint32_t> sizes = fill();
  EXPECT_GE(sizes.size(), 4u);
  EXPECT_GT(sizes.front(), 16u);
  EXPECT_EQ(sizes.back(), 1u);  // long units end well inside, the smallest take what is left
  EXPECT_GE(clock_.now_ns - begin_ns, 8 * kMs - 200 * kUs);  // the smallest unit fits no more
}

TEST_F(GatedTest, TellsAgentdThePiecesOfElasticUnitsAlone) {
  OfferBubble(window_.get(), kSlot, 64 * kMs, 60 * kMs);
  OpenBubble();
  uint32_t size = 0;
  ASSERT_EQ(task_->NextElastic(0, {.min = 3, .max = 3}, 0, &size), Outcome::kStarted);
  RunFor(kMs, kMs);
  ASSERT_EQ(task_->NextUnit(1, 0), Outcome::kStarted);
  RunFor(kMs, kMs);
  ASSERT_EQ(task_->NextElastic(0, {.min = 4, .max = 4}, 0, &size), Outcome::kStarted);
  EXPECT_EQ(task_page_->pieces_done.load(), 3u);
  RunFor(kMs, kMs);
  task_->EndUnit();
  EXPECT_EQ(task_page_->pieces_done.load(), 7u);
}

TEST_F(GatedTest, CountsABubbleThatIsTooShortForTheSmallestElasticUnitAsDenied) {
  OfferBubble(window_.get(), kSlot, 100 * kUs, kMs);
  OpenBubble();
  uint32_t size = 0;
  EXPECT_EQ(task_->NextElastic(0, {.min = 4, .max = 8}, 0, &size), Outcome::kLater);
  EXPECT_EQ(task_->stats().bubbles_denied, 1u);
}

TEST_F(GatedTest, ShowsTheWatchdogWhatTheElasticUnitInProgressShouldTake) {
  OfferBubble(window_.get(), kSlot, 64 * kMs, 60 * kMs);
  OpenBubble();
  uint32_t size = 0;
  ASSERT_EQ(task_->NextElastic(0, {.min = 1, .max = 8}, 0, &size), Outcome::kStarted);
  EXPECT_EQ(size, 1u);
  RunFor(kMs, kMs);
  ASSERT_EQ(task_->NextElastic(0, {.min = 1, .max = 8}, 0, &size), Outcome::kStarted);
  EXPECT_EQ(size, 2u);
  EXPECT_EQ(task_page_->unit_estimate_ns.load(), 2 * kMs);
  task_->EndUnit();
  EXPECT_EQ(Units().back().estimate_ns, 2 * kMs);
}

TEST_F(GatedTest, FindsAFailureBubbleWhileItWaits) {
  futex_.on_wait = [this] {
    clock_.now_ns += FillTask::kLookAgainNs;
    window_->heartbeat_ns.store(clock_.now_ns);
    window_->failure_unit_max_ns.store(2 * kMs);
    window_->failure_seq.store(signal_->seq.load());
    window_->failure_begin_ns.store(clock_.now_ns - kMs);
    return WaitResult::kTimedOut;
  };
  EXPECT_EQ(task_->NextUnit(0, kForever), Outcome::kStarted);
  EXPECT_EQ(task_page_->last_slot.load(), kFailureSlot);
}

TEST_F(GatedTest, HoldsTheTurnFromItsFirstUnitUntilItCanStartNoMore) {
  OpenBubble();
  ASSERT_EQ(task_->NextUnit(0, 0), Outcome::kStarted);
  const uint32_t word = turn_->holder.load();
  EXPECT_EQ(HolderOf(word), kSeat);
  RunFor(kMs, kMs);
  ASSERT_EQ(task_->NextUnit(0, 0), Outcome::kStarted);
  EXPECT_EQ(turn_->holder.load(), word);
  EXPECT_EQ(turn_->seats[kSeat].served_ns.load(), kMs);

  RunFor(20 * kMs, kMs);  // no latest start is so late
  EXPECT_EQ(task_->NextUnit(0, 0), Outcome::kLater);
  EXPECT_TRUE(IsFree(turn_->holder.load()));
  EXPECT_EQ(turn_->seats[kSeat].wants.load(), 0u);
}

TEST_F(GatedTest, LeavesTheTurnToOthersWhileItWaitsForTheNextBubble) {
  OpenBubble();
  ASSERT_EQ(task_->NextUnit(0, kForever), Outcome::kStarted);
  CloseBubble();
  futex_.on_wait = [this] {
    EXPECT_TRUE(IsFree(turn_->holder.load()));
    EXPECT_EQ(turn_->seats[kSeat].wants.load(), 1u);
    OpenBubble();
    return WaitResult::kWoken;
  };
  EXPECT_EQ(task_->NextUnit(0, kForever), Outcome::kStarted);
  EXPECT_EQ(HolderOf(turn_->holder.load()), kSeat);
}

TEST_F(GatedTest, LeavesTheTurnToOthersWhileItDoesOtherWork) {
  OpenBubble();
  ASSERT_EQ(task_->NextUnit(0, kForever), Outcome::kStarted);
  task_->EndUnit();
  EXPECT_TRUE(IsFree(turn_->holder.load()));
}

TEST_F(GatedTest, WaitsForItsTurnWhileAnotherTaskHoldsIt) {
  OpenBubble();
  turn_->holder.store(TakenWord(0, 0));
  futex_.on_wait = [this] {
    turn_->holder.store(FreedWord(turn_->holder.load()));
    return WaitResult::kWoken;
  };
  EXPECT_EQ(task_->NextUnit(0, kForever), Outcome::kStarted);
  EXPECT_EQ(futex_.waits, 1);
  EXPECT_EQ(task_->stats().bubbles_denied, 0u);
}

// The other task may have run between the first look and the turn.
TEST_F(GatedTest, LooksAtTheTimeAgainOnceItHasTheTurn) {
  OpenBubble();
  clock_.ns_per_look = 5 * kMs;
  EXPECT_EQ(task_->NextUnit(0, 0), Outcome::kLater);  // 10 ms after the begin, 15 ms: too late
  EXPECT_TRUE(IsFree(turn_->holder.load()));

  CloseBubble();
  clock_.ns_per_look = 3 * kMs;
  OpenBubble();
  const uint64_t begin_ns = clock_.now_ns;
  ASSERT_EQ(task_->NextUnit(0, 0), Outcome::kStarted);
  clock_.ns_per_look = 0;
  task_->EndUnit();
  EXPECT_EQ(Units()[0].start_ns - begin_ns, 9 * kMs);
}

TEST_F(GatedTest, LetsABetterTaskGoFirstForAMoment) {
  turn_->seats[kSeat].policy_rank.store(2);
  turn_->seats[0].policy_rank.store(1);
  turn_->seats[0].estimate_ns.store(kMs);
  turn_->seats[0].wants.store(1);
  OpenBubble();
  const uint64_t begin_ns = clock_.now_ns;
  EXPECT_EQ(task_->NextUnit(0, kForever), Outcome::kStarted);
  EXPECT_EQ(clock_.now_ns - begin_ns, Turn::kYieldNs);
}

TEST_F(GatedTest, OffersAnElasticUnitOfTheSmallestSizeToItsNeighbours) {
  OpenBubble();
  uint32_t size = 0;
  ASSERT_EQ(task_->NextElastic(0, {.min = 1, .max = 8}, 0, &size), Outcome::kStarted);
  RunFor(kMs, kMs);
  ASSERT_EQ(task_->NextElastic(0, {.min = 1, .max = 8}, 0, &size), Outcome::kStarted);
  EXPECT_EQ(size, 2u);
  EXPECT_EQ(turn_->seats[kSeat].estimate_ns.load(), kMs);
}

TEST_F(GatedTest, EstimatesAnOverrunByItsCpuTime) {
  OpenBubble();
  task_->NextUnit(0, kForever);
  CloseBubble();
  RunFor(40 * kMs, 5 * kMs);
  task_->EndUnit();
  EXPECT_EQ(task_->stats().unit_estimate_ns, 5 * kMs);
}

TEST_F(GatedTest, CountsAnOfferedBubbleThatIsTooShortForItsUnitAsDenied) {
  OfferBubble(window_.get(), kSlot, 100 * kUs, kMs);
  OpenBubble();
  EXPECT_EQ(task_->NextUnit(0, 0), Outcome::kLater);
  EXPECT_EQ(task_->NextUnit(0, 0), Outcome::kLater);

  EXPECT_EQ(task_->stats().bubbles_denied, 1u);
  EXPECT_EQ(task_page_->bubbles_denied.load(), 1u);
}

TEST_F(GatedTest, TriesAUnitWhenItsGuessWasDeniedForLong) {
  OfferBubble(window_.get(), kSlot, 512 * kUs, kMs);
  Outcome outcome = Outcome::kLater;
  int bubbles = 0;
  while (outcome == Outcome::kLater && bubbles < 1000) {
    OpenBubble();
    outcome = task_->NextUnit(0, 0);
    CloseBubble();
    ++bubbles;
  }
  EXPECT_EQ(outcome, Outcome::kStarted);
  EXPECT_EQ(bubbles, 65);  // 64 denials halve the guess of 1 ms to 0.5 ms
}

TEST_F(GatedTest, ReturnsWhenTheTimeIsOverWithoutABubble) {
  const uint64_t begin_ns = clock_.now_ns;
  EXPECT_EQ(task_->NextUnit(0, 250 * kMs), Outcome::kLater);
  EXPECT_EQ(clock_.now_ns - begin_ns, 250 * kMs);
}

TEST_F(GatedTest, ReturnsWhenASignalHandlerRan) {
  futex_.on_wait = [] { return WaitResult::kInterrupted; };
  EXPECT_EQ(task_->NextUnit(0, kForever), Outcome::kLater);
}

TEST_F(GatedTest, StopsWhenToldSoAlsoInTheMiddleOfABubbleAndForGood) {
  OpenBubble();
  ASSERT_EQ(task_->NextUnit(0, kForever), Outcome::kStarted);
  SendStop();
  EXPECT_EQ(task_->NextUnit(0, kForever), Outcome::kStop);
  EXPECT_EQ(task_->NextUnit(0, kForever), Outcome::kStop);
  EXPECT_EQ(Units().size(), 1u);
}

TEST_F(GatedTest, StopsWhileItWaits) {
  futex_.on_wait = [this] {
    SendStop();
    return WaitResult::kTimedOut;
  };
  EXPECT_EQ(task_->NextUnit(0, kForever), Outcome::kStop);
}

TEST_F(GatedTest, StaysParkedOnceTheAgentIsGone) {
  agent_ = Descriptor();
  OpenBubble();
  EXPECT_EQ(task_->NextUnit(0, kMs), Outcome::kLater);
  CloseBubble();
  OpenBubble();
  EXPECT_EQ(task_->NextUnit(0, kMs), Outcome::kLater);
  EXPECT_TRUE(task_->is_gated());
}

TEST_F(GatedTest, IsParkedWhileTheHeartbeatIsStale) {
  OpenBubble();
  window_->heartbeat_ns.store(clock_.now_ns - 2 * kHeartbeatStaleNs);
  EXPECT_EQ(task_->NextUnit(0, 0), Outcome::kLater);
  window_->heartbeat_ns.store(clock_.now_ns);
  EXPECT_EQ(task_->NextUnit(0, 0), Outcome::kStarted);
}

TEST_F(GatedTest, IgnoresMessagesThatMakeNoSense) {
  ASSERT_EQ(send(agent_.get(), "nonsense", 8, 0), 8);
  MessageHeader unknown = BareMessage(MessageType::kStop);
  unknown.type = 1234;
  ASSERT_EQ(send(agent_.get(), &unknown, sizeof(unknown), 0), ssize_t{sizeof(unknown)});
  OpenBubble();
  EXPECT_EQ(task_->NextUnit(0, kForever), Outcome::kStarted);
}

TEST_F(GatedTest, SaysThatItIsDoneWhenItGoes) {
  OpenBubble();
  task_->NextUnit(0, kForever);
  RunFor(kMs, kMs);
  task_.reset();
  EXPECT_EQ(state(), TaskState::kDone);
  EXPECT_EQ(Units().size(), 1u);
}

TEST_F(GatedTest, ForkedChildStartsNothingAndLeavesThePageAlone) {
  OpenBubble();
  ASSERT_EQ(task_->NextUnit(0, kForever), Outcome::kStarted);
  const pid_t child = fork();
  if (child == 0) {
    const bool is_stopped = task_->NextUnit(0, kForever) == Outcome::kStop && !task_->is_gated();
    task_.reset();
    _exit(is_stopped ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);

  EXPECT_EQ(status, 0);
  EXPECT_EQ(state(), TaskState::kInUnit);
  EXPECT_EQ(Units().size(), 0u);
}

}  // namespace
}  // namespace pipefill::sdk
