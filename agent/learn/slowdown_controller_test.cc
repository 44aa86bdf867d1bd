#include "agent/learn/slowdown_controller.h"

#include <gtest/gtest.h>

#include <random>

namespace pipefill {
namespace {

constexpr double kBudget = 0.01;
constexpr double kStart = 0.2;
constexpr double kLeast = 0.02;
constexpr int64_t kIterationNs = 100'000'000;
constexpr int64_t kGroup = 16;

// Iterations without noise: estimates are exact from the eighth comparison on.
class SlowdownControllerTest : public testing::Test {
 protected:
  // One hold-out in 16; filled iterations take longer by `slowdown`.
  void Take(int64_t iterations, double slowdown, double overrun_share = 0.01) {
    for (int64_t i = 0; i < iterations; ++i) TakeOne(next_ % kGroup == 8, slowdown, overrun_share);
  }
  void TakeUnheld(int64_t iterations, double overrun_share) {
    for (int64_t i = 0; i < iterations; ++i) TakeOne(false, 0, overrun_share);
  }
  void TakeOne(bool is_held_out, double slowdown, double overrun_share) {
    const bool is_filled = !is_held_out && !control().is_backed_off;
    const auto length_ns =
        static_cast<int64_t>(static_cast<double>(iteration_ns_) * (is_filled ? 1 + slowdown : 1));
    const IterationFill kind = is_held_out ? IterationFill::kHeldOut : IterationFill::kFilled;
    now_ = now_ + absl::Nanoseconds(length_ns);
    controller_.OnIteration(
        {.sample = {.number = next_++,
                    .length_ns = length_ns,
                    .kind = control().is_backed_off ? IterationFill::kNeither : kind},
         .bubble_ns = length_ns / 2,
         .overrun_ns = static_cast<int64_t>(static_cast<double>(length_ns / 2) * overrun_share)},
        now_);
  }
  absl::Duration TakeUntilBackedOff(double slowdown) {
    for (int i = 0; i < 4000 && !control().is_backed_off; ++i) Take(1, slowdown);
    EXPECT_TRUE(control().is_backed_off);
    return control().retry_at - now_;
  }
  void WaitForRetry() {
    now_ = control().retry_at;
    EXPECT_TRUE(controller_.OnTick(now_));
    EXPECT_FALSE(control().is_backed_off);
  }
  const SlowdownControl& control() const { return controller_.control(); }

  int64_t iteration_ns_ = kIterationNs;
  uint64_t next_ = 0;
  Instant now_ = Instant::FromNs(1);
  SlowdownController controller_{ControllerOptions(), kStart, kBudget};
};

TEST_F(SlowdownControllerTest, StartsAsConfiguredWithoutAnEstimate) {
  EXPECT_FALSE(control().is_backed_off);
  EXPECT_EQ(control().overrun_ratio, kStart);
  EXPECT_EQ(control().text, "measuring: 0 of 8 hold-outs; budget 1 %");
  EXPECT_EQ(SlowdownController({}, 0.9, kBudget).control().overrun_ratio, 0.5);
}

TEST_F(SlowdownControllerTest, RaisesLambdaStepByStepWhileFillingIsCheap) {
  Take(kGroup * 16, 0.003);
  EXPECT_GT(control().overrun_ratio, kStart);
  EXPECT_LE(control().overrun_ratio, kStart + 2 * kRaise);
  Take(kGroup * 100, 0.003);
  EXPECT_EQ(control().overrun_ratio, 0.5);
}

TEST_F(SlowdownControllerTest, ReportsWhatItEstimates) {
  Take(kGroup * 16, 0.003);
  ASSERT_TRUE(control().estimate.has_value());
  EXPECT_NEAR(control().estimate->slowdown, 0.003, 1e-6);
  EXPECT_EQ(control().text, "slowdown 0.3 % (95 %: 0.3 .. 0.3 %), budget 1 %");
}

TEST_F(SlowdownControllerTest, KeepsAwayFromTheBudget) {
  Take(kGroup * 100, 0.0095);
  EXPECT_EQ(control().overrun_ratio, kLeast);
  EXPECT_FALSE(control().is_backed_off);
}

TEST_F(SlowdownControllerTest, HoldsLambdaBetweenEnoughAndTooMuch) {
  Take(kGroup * 100, 0.008);
  EXPECT_EQ(control().overrun_ratio, kStart);
}

// Long iterations on a noisy machine: intervals of several budgets, which by chance lie mostly
// above it now and then.
TEST(SlowdownController, NoiseAloneDoesNotKeepLambdaLow) {
  double sum = 0;
  constexpr int kSeeds = 20;
  constexpr int kGroups = 100;
  for (unsigned seed = 1; seed <= kSeeds; ++seed) {
    std::mt19937 chance(seed);
    std::normal_distribution<double> noise(1.0, 0.15);
    SlowdownController controller({}, kStart, kBudget);
    for (uint64_t i = 0; i < kGroup * kGroups; ++i) {
      const bool is_held_out = i % kGroup == 8;
      controller.OnIteration(
          {.sample = {.number = i,
                      .length_ns = static_cast<int64_t>(kIterationNs * noise(chance)),
                      .kind = is_held_out ? IterationFill::kHeldOut : IterationFill::kFilled},
           .bubble_ns = 1'000'000,
           .overrun_ns = 5'000},
          Instant::FromNs(1 + static_cast<int64_t>(i) * kIterationNs));
      if (is_held_out) sum += controller.control().overrun_ratio;
    }
  }
  EXPECT_GT(sum / (kSeeds * kGroups), 0.33);
}

TEST_F(SlowdownControllerTest, DoesNotRaiseWithoutHoldOuts) {
  TakeUnheld(2000, 0.001);
  EXPECT_EQ(control().overrun_ratio, kStart);
}

TEST_F(SlowdownControllerTest, CutsLambdaForOverrunAlsoWithoutHoldOuts) {
  TakeUnheld(kDecideFilled, 2 * kOverrunTarget);
  EXPECT_NEAR(control().overrun_ratio, 0.7 * kStart, 1e-9);
  EXPECT_NEAR(control().overrun_share, 2 * kOverrunTarget, 1e-6);
  TakeUnheld(100 * kDecideFilled, 2 * kOverrunTarget);
  EXPECT_EQ(control().overrun_ratio, kLeast);
}

TEST_F(SlowdownControllerTest, OverrunJustUnderItsTargetHoldsLambda) {
  Take(kGroup * 100, 0.001, 0.95 * kOverrunTarget);
  EXPECT_EQ(control().overrun_ratio, kStart);
}

TEST_F(SlowdownControllerTest, HalvesLambdaOverTheBudgetAndMeasuresAnew) {
  for (int i = 0; i < 400 && control().overrun_ratio == kStart; ++i) Take(1, 0.02);
  EXPECT_EQ(control().overrun_ratio, kStart / 2);
  EXPECT_FALSE(control().is_backed_off);
  Take(kGroup * 7, 0.0);
  EXPECT_EQ(control().overrun_ratio, kStart / 2);
}

TEST_F(SlowdownControllerTest, LeavesLambdaAloneWhereOverrunIsNotToBlame) {
  Take(kGroup * 100, 0.0095, 0.001);
  EXPECT_EQ(control().overrun_ratio, 0.5);
  EXPECT_FALSE(control().is_backed_off);
}

TEST_F(SlowdownControllerTest, StopsAtOnceWhereLessOverrunWouldNotHelp) {
  while (!control().is_backed_off && next_ < static_cast<uint64_t>(kGroup * 13)) {
    TakeOne(next_ % kGroup == 8, 0.015, 0.001);
  }
  EXPECT_TRUE(control().is_backed_off);
}

TEST_F(SlowdownControllerTest, StopsOverTheBudgetOnceLambdaIsLow) {
  TakeUntilBackedOff(0.02);
  EXPECT_EQ(control().overrun_ratio, kLeast);
  EXPECT_EQ(control().back_offs, 1);
  EXPECT_EQ(control().text, "slowdown 2 % (95 %: 2 .. 2 %) exceeds the budget of 1 %");
  EXPECT_LT(next_, static_cast<uint64_t>(kGroup * 60));
}

TEST_F(SlowdownControllerTest, StopsAtOnceFarOverTheBudget) {
  TakeUntilBackedOff(0.05);
  EXPECT_LT(next_, static_cast<uint64_t>(kGroup * 13));
}

TEST_F(SlowdownControllerTest, StaysStoppedUntilTheWaitIsOver) {
  const absl::Duration wait = TakeUntilBackedOff(0.05);
  EXPECT_FALSE(controller_.OnTick(now_ + (wait - absl::Nanoseconds(1))));
  EXPECT_TRUE(control().is_backed_off);
  WaitForRetry();
  EXPECT_EQ(control().overrun_ratio, kLeast);
  EXPECT_FALSE(control().estimate.has_value());
}

TEST_F(SlowdownControllerTest, WaitDoublesUpToItsLimit) {
  iteration_ns_ = 100'000;
  for (const int seconds : {30, 60, 120, 240, 480, 960, 1800, 1800}) {
    EXPECT_EQ(TakeUntilBackedOff(0.05), absl::Seconds(seconds));
    WaitForRetry();
  }
  EXPECT_EQ(control().back_offs, 8);
}

TEST_F(SlowdownControllerTest, WaitMakesGoodWhatWasLostWhereIterationsAreLong) {
  iteration_ns_ = int64_t{60} * 1'000'000'000;
  const absl::Duration wait = TakeUntilBackedOff(0.05);
  // 4 % too much over some 130 iterations of a minute, at 1 %.
  EXPECT_GT(wait, 4 * 110 * absl::Minutes(1));
  EXPECT_LE(wait, kBackOffLimit);
}

TEST_F(SlowdownControllerTest, ProvenSuccessSetsTheWaitBack) {
  iteration_ns_ = 100'000;
  for (int i = 0; i < 3; ++i) {
    TakeUntilBackedOff(0.05);
    WaitForRetry();
  }
  Take(kGroup * (static_cast<int64_t>(kProven) + 5), 0.001);
  EXPECT_FALSE(control().is_backed_off);
  EXPECT_EQ(TakeUntilBackedOff(0.2), absl::Seconds(30));
}

TEST_F(SlowdownControllerTest, SoonNoticesThatFillingBecameDear) {
  Take(kGroup * 200, 0.001);
  const uint64_t before = next_;
  TakeUntilBackedOff(0.05);
  EXPECT_LT(next_ - before, static_cast<uint64_t>(kGroup * 30));
}

TEST_F(SlowdownControllerTest, RaisedBudgetEndsTheWait) {
  TakeUntilBackedOff(0.05);
  EXPECT_TRUE(controller_.SetBudget(0.1, now_));
  EXPECT_FALSE(control().is_backed_off);
  Take(kGroup * 60, 0.05);
  EXPECT_FALSE(control().is_backed_off);
}

TEST_F(SlowdownControllerTest, LoweredBudgetCountsFromTheNextDecisionOn) {
  Take(kGroup * 20, 0.005);
  EXPECT_FALSE(controller_.SetBudget(kBudget, now_));
  EXPECT_TRUE(controller_.SetBudget(0.001, now_));
  Take(kGroup * 5, 0.005);
  EXPECT_TRUE(control().is_backed_off);
  EXPECT_EQ(control().text, "slowdown 0.5 % (95 %: 0.5 .. 0.5 %) exceeds the budget of 0.1 %");
}

}  // namespace
}  // namespace pipefill
