#include "client/fill/turn.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <thread>
#include <vector>

#include "client/testing/fakes.h"
#include "gtest/gtest.h"

namespace pipefill::sdk {
namespace {

constexpr uint64_t kUs = 1'000;
constexpr uint64_t kMs = 1'000'000;
constexpr uint32_t kBubble = 1;

const auto kAllFit = [](uint64_t) { return true; };
const auto kNoneFits = [](uint64_t) { return false; };

// Two tasks of one device in seats 0 and 1.
class TurnTest : public testing::Test {
 protected:
  TurnTest()
      : futex_(clock_),
        first_(page_.get(), 0, clock_, futex_),
        second_(page_.get(), 1, clock_, futex_) {
    page_->taken.store(0b11);
    first_.Want(kMs);
    second_.Want(kMs);
  }

  TurnSeat& seat(uint32_t number) { return page_->seats[number]; }

  const std::unique_ptr<TurnPage> page_ = std::make_unique<TurnPage>();
  FakeClock clock_;
  FakeFutex futex_;
  Turn first_;
  Turn second_;
};

TEST_F(TurnTest, OneHoldsItAtATime) {
  EXPECT_EQ(first_.Take(kBubble, kAllFit), TurnAnswer::kMine);
  EXPECT_EQ(HolderOf(page_->holder.load()), 0u);
  EXPECT_EQ(second_.Take(kBubble, kAllFit), TurnAnswer::kTaken);
  first_.GiveUp();
  EXPECT_EQ(second_.Take(kBubble, kAllFit), TurnAnswer::kMine);
  EXPECT_EQ(first_.Take(kBubble, kAllFit), TurnAnswer::kTaken);
}

TEST_F(TurnTest, IsKeptOverUnitsWithoutAnyStep) {
  ASSERT_EQ(first_.Take(kBubble, kAllFit), TurnAnswer::kMine);
  const uint32_t word = page_->holder.load();
  for (int i = 0; i < 5; ++i) {
    first_.OnUnit(100 * kUs);
    EXPECT_EQ(first_.Take(kBubble, kAllFit), TurnAnswer::kMine);
  }
  EXPECT_EQ(page_->holder.load(), word);
  EXPECT_EQ(futex_.wakes, 0);
}

TEST_F(TurnTest, WakesTheOthersWhenItIsGivenUpAndOnlyIfTheyWantIt) {
  first_.Take(kBubble, kAllFit);
  first_.GiveUp();
  EXPECT_EQ(futex_.wakes, 1);
  first_.GiveUp();
  EXPECT_EQ(futex_.wakes, 1);

  second_.StopWanting();
  first_.Take(kBubble, kAllFit);
  first_.GiveUp();
  EXPECT_EQ(futex_.wakes, 1);
}

TEST_F(TurnTest, TheLowerPolicyRankGoesFirst) {
  seat(0).policy_rank.store(5);
  seat(1).policy_rank.store(-5);
  EXPECT_EQ(first_.Take(kBubble, kAllFit), TurnAnswer::kYield);
  EXPECT_EQ(second_.Take(kBubble, kAllFit), TurnAnswer::kMine);
  second_.OnUnit(1000 * kMs);
  EXPECT_EQ(second_.Take(kBubble, kAllFit), TurnAnswer::kMine);
}

TEST_F(TurnTest, AmongEqualsTheLessServedGoesFirst) {
  ASSERT_EQ(first_.Take(kBubble, kAllFit), TurnAnswer::kMine);
  first_.OnUnit(Turn::kSlackNs);
  EXPECT_EQ(first_.Take(kBubble, kAllFit), TurnAnswer::kMine);
  first_.OnUnit(1);
  EXPECT_EQ(first_.Take(kBubble, kAllFit), TurnAnswer::kYield);
  EXPECT_TRUE(IsFree(page_->holder.load()));
  EXPECT_EQ(futex_.wakes, 1);
  EXPECT_EQ(second_.Take(kBubble, kAllFit), TurnAnswer::kMine);
}

TEST_F(TurnTest, ATaskWhoseUnitNoLongerFitsIsNotWaitedFor) {
  first_.OnUnit(10 * kMs);
  EXPECT_EQ(first_.Take(kBubble, kNoneFits), TurnAnswer::kMine);
}

TEST_F(TurnTest, ATaskThatWantsNothingIsNotWaitedFor) {
  first_.OnUnit(10 * kMs);
  second_.StopWanting();
  EXPECT_EQ(first_.Take(kBubble, kAllFit), TurnAnswer::kMine);
}

TEST_F(TurnTest, AStoppedNeighbourCostsOneYieldNowAndThen) {
  seat(1).policy_rank.store(-1);  // and never moves
  EXPECT_EQ(first_.Take(kBubble, kAllFit), TurnAnswer::kYield);
  EXPECT_EQ(first_.Wait(kMs), WaitResult::kTimedOut);
  EXPECT_EQ(futex_.waited_at, &page_->holder);
  EXPECT_EQ(futex_.last_timeout_ns, Turn::kYieldNs);
  EXPECT_EQ(first_.Take(kBubble, kAllFit), TurnAnswer::kMine);
  const int wakes = futex_.wakes;
  clock_.now_ns += Turn::kVainNs - 1;
  EXPECT_EQ(first_.Take(kBubble, kAllFit), TurnAnswer::kMine);
  EXPECT_EQ(futex_.wakes, wakes);
  clock_.now_ns += 1;
  EXPECT_EQ(first_.Take(kBubble, kAllFit), TurnAnswer::kYield);
}

TEST_F(TurnTest, YieldsAgainInTheNextBubble) {
  seat(1).policy_rank.store(-1);
  EXPECT_EQ(first_.Take(kBubble, kAllFit), TurnAnswer::kYield);
  clock_.now_ns += Turn::kYieldNs;
  EXPECT_EQ(first_.Take(kBubble + 2, kAllFit), TurnAnswer::kYield);
}

TEST_F(TurnTest, KeepsYieldingWhenItIsWokenTooEarly) {
  seat(1).policy_rank.store(-1);
  EXPECT_EQ(first_.Take(kBubble, kAllFit), TurnAnswer::kYield);
  clock_.now_ns += Turn::kYieldNs - 10;
  EXPECT_EQ(first_.Take(kBubble, kAllFit), TurnAnswer::kYield);
  first_.Wait(kMs);
  EXPECT_EQ(futex_.last_timeout_ns, 10u);
}

TEST_F(TurnTest, WaitsAtTheHolderOfTheTurn) {
  second_.Take(kBubble, kAllFit);
  ASSERT_EQ(first_.Take(kBubble, kAllFit), TurnAnswer::kTaken);
  first_.Wait(7 * kMs);
  EXPECT_EQ(futex_.waited_at, &page_->holder);
  EXPECT_EQ(futex_.last_timeout_ns, 7 * kMs);
  EXPECT_EQ(futex_.waits, 1);
}

TEST_F(TurnTest, ATurnThatWasTakenAwayIsNotGivenUpForTheNextHolder) {
  ASSERT_EQ(first_.Take(kBubble, kAllFit), TurnAnswer::kMine);
  page_->holder.store(FreedWord(page_->holder.load()));  // agentd
  ASSERT_EQ(second_.Take(kBubble, kAllFit), TurnAnswer::kMine);
  first_.GiveUp();
  EXPECT_EQ(HolderOf(page_->holder.load()), 1u);
  EXPECT_EQ(first_.Take(kBubble, kAllFit), TurnAnswer::kTaken);
}

TEST_F(TurnTest, ALongAbsenceGivesLimitedCredit) {
  second_.StopWanting();
  first_.OnUnit(10 * Turn::kCreditNs);
  second_.Want(kMs);
  EXPECT_EQ(seat(1).served_ns.load(), 9 * Turn::kCreditNs);
}

TEST_F(TurnTest, TakesAnyPageForInput) {
  for (const uint32_t word : {UINT32_MAX, 0xfu, 9u, 0xfffffff0u}) {
    page_->holder.store(word);
    page_->taken.store(UINT32_MAX);
    seat(1).served_ns.store(UINT64_MAX);
    seat(1).estimate_ns.store(UINT64_MAX);
    seat(1).policy_rank.store(INT32_MIN);
    first_.StopWanting();
    first_.Want(kMs);
    first_.OnUnit(UINT64_MAX);
    const TurnAnswer answer = first_.Take(kBubble, kAllFit);
    EXPECT_EQ(answer, IsFree(word) ? TurnAnswer::kYield : TurnAnswer::kTaken);
  }
}

// Tasks of fixed unit lengths share bubbles of one length. Each step is what the waiting tasks
// would do at that moment, in the order of their seats.
class Schedule {
 public:
  explicit Schedule(const std::vector<uint64_t>& lengths_ns)
      : futex_(clock_), lengths_(lengths_ns) {
    page_->taken.store((1u << lengths_.size()) - 1);
    for (uint32_t seat = 0; seat < lengths_.size(); ++seat) {
      turns_.push_back(std::make_unique<Turn>(page_.get(), seat, clock_, futex_));
    }
    filled_.resize(lengths_.size());
  }

  TurnSeat& seat(uint32_t number) { return page_->seats[number]; }

  void RunBubbles(int bubbles, uint64_t length_ns) {
    for (int i = 0; i < bubbles; ++i) {
      clock_.now_ns += 50 * kMs;
      end_ns_ = clock_.now_ns + length_ns;
      opening_ += 2;
      while (Step()) {
      }
    }
  }
  uint64_t filled_ns(size_t seat) const { return filled_[seat]; }
  uint64_t filled_ns() const {
    uint64_t sum = 0;
    for (const uint64_t filled : filled_) sum += filled;
    return sum;
  }

 private:
  // False once nothing can start any more in this bubble.
  bool Step() {
    bool is_yielding = false;
    // Twice: whoever is left the turn is woken and takes it at once.
    for (size_t i = 0; i < 2 * turns_.size(); ++i) {
      const size_t seat = i % turns_.size();
      const TurnAnswer answer = TryTask(seat);
      if (answer == TurnAnswer::kYield) is_yielding = true;
      if (answer != TurnAnswer::kMine) continue;
      clock_.now_ns += lengths_[seat];
      filled_[seat] += lengths_[seat];
      turns_[seat]->OnUnit(lengths_[seat]);
      return true;
    }
    if (is_yielding) clock_.now_ns += Turn::kYieldNs;
    return is_yielding;
  }

  TurnAnswer TryTask(size_t seat) {
    const auto fits = [this](uint64_t length_ns) { return clock_.now_ns + length_ns <= end_ns_; };
    turns_[seat]->Want(lengths_[seat]);
    if (fits(lengths_[seat])) return turns_[seat]->Take(opening_, fits);
    turns_[seat]->GiveUp();
    return TurnAnswer::kTaken;
  }

  const std::unique_ptr<TurnPage> page_ = std::make_unique<TurnPage>();
  FakeClock clock_;
  FakeFutex futex_;
  const std::vector<uint64_t> lengths_;
  std::vector<std::unique_ptr<Turn>> turns_;
  std::vector<uint64_t> filled_;
  uint64_t end_ns_ = 0;
  uint32_t opening_ = 1;
};

TEST(TurnScheduleTest, EqualTasksShareTheFilledTime) {
  Schedule schedule({500 * kUs, 500 * kUs});
  schedule.RunBubbles(100, 10 * kMs);
  const auto first = static_cast<double>(schedule.filled_ns(0));
  const auto second = static_cast<double>(schedule.filled_ns(1));
  EXPECT_LT(std::abs(first - second), 0.1 * (first + second));
  EXPECT_EQ(schedule.filled_ns(), 100 * 10 * kMs);  // no time is lost between them
}

TEST(TurnScheduleTest, EqualTasksShareAlsoWithUnitsOfDifferentLength) {
  Schedule schedule({300 * kUs, 2 * kMs, 700 * kUs});
  schedule.RunBubbles(300, 15 * kMs);
  const double fair = static_cast<double>(schedule.filled_ns()) / 3;
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(static_cast<double>(schedule.filled_ns(i)), fair, 0.1 * fair) << i;
  }
}

TEST(TurnScheduleTest, LongAndShortUnitsTogetherFillMoreThanEitherAlone) {
  Schedule long_units({4200 * kUs});
  Schedule short_units({2700 * kUs});
  Schedule both({4200 * kUs, 2700 * kUs});
  for (Schedule* schedule : {&long_units, &short_units, &both}) {
    schedule->RunBubbles(200, 10 * kMs);
  }
  EXPECT_GT(both.filled_ns(), long_units.filled_ns());
  EXPECT_GT(both.filled_ns(), short_units.filled_ns());
}

TEST(TurnScheduleTest, ARestTooShortForTheBetterTaskGoesToTheOther) {
  Schedule schedule({4 * kMs, kMs});
  schedule.seat(0).policy_rank.store(1);
  schedule.seat(1).policy_rank.store(2);
  schedule.RunBubbles(10, 10 * kMs);
  EXPECT_EQ(schedule.filled_ns(0), 10 * 8 * kMs);
  EXPECT_EQ(schedule.filled_ns(1), 10 * 2 * kMs);
}

TEST(TurnScheduleTest, ALateComerIsLevelAfterItsCredit) {
  Schedule schedule({500 * kUs, 500 * kUs});
  schedule.seat(0).served_ns.store(uint64_t{3600} * 1000 * kMs);
  schedule.RunBubbles(200, 10 * kMs);
  // 200 ms of credit, then half of the remaining 1,800 ms.
  EXPECT_NEAR(static_cast<double>(schedule.filled_ns(0)), static_cast<double>(900 * kMs),
              static_cast<double>(20 * kMs));
}

// Between real threads: what the holder of the turn does alone needs no lock.
TEST(TurnThreadsTest, NoTwoTasksEverRunAtOnce) {
  constexpr uint32_t kTasks = 4;
  constexpr int kUnits = 2'000;
  const auto page = std::make_unique<TurnPage>();
  page->taken.store((1u << kTasks) - 1);
  int64_t in_turn = 0;  // not atomic
  const SystemClock clock;
  const auto run = [&](uint32_t seat) {
    SystemFutex futex;
    Turn turn(page.get(), seat, clock, futex);
    for (int done = 0; done < kUnits;) {
      turn.Want(1000 + seat);
      if (turn.Take(static_cast<uint32_t>(done), kAllFit) != TurnAnswer::kMine) {
        turn.Wait(10 * kMs);
        continue;
      }
      ++in_turn;
      ++done;
      turn.OnUnit(10 * kUs);
      if (done % 16 == 0) turn.GiveUp();
    }
    turn.StopWanting();
  };
  std::vector<std::thread> threads;
  for (uint32_t seat = 0; seat < kTasks; ++seat) threads.emplace_back(run, seat);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(in_turn, int64_t{kTasks} * kUnits);
  EXPECT_TRUE(IsFree(page->holder.load()));
}

}  // namespace
}  // namespace pipefill::sdk
