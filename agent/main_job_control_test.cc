#include "agent/main_job_control.h"

#include <gtest/gtest.h>

#include <cmath>

namespace pipefill {
namespace {

constexpr HoldOut kHoldOut = {.block_iterations = 1, .one_in = 16};
constexpr int64_t kIterationNs = 100'000'000;
constexpr uint32_t kBudgetPpm = 10'000;

RankObservation Rank(int32_t rank) {
  RankObservation observation;
  observation.main_job = "gpt";
  observation.rank = rank;
  observation.rank_key = rank + 1;
  observation.settings.budget_ppm = kBudgetPpm;
  observation.has_offer = true;
  observation.has_working_task = true;
  return observation;
}

// Two ranks; drained once per iteration.
class MainJobControlTest : public testing::Test {
 protected:
  // Filled iterations take longer by `slowdown`.
  void Run(int iterations, double slowdown) {
    for (int i = 0; i < iterations; ++i) {
      const bool is_filled = !IsHeldOut(kHoldOut, next_) && !control_.control().is_backed_off;
      const auto length_ns = static_cast<int64_t>(kIterationNs * (is_filled ? 1 + slowdown : 1.0));
      ranks_[0].iterations = {{.number = next_++, .begin_ns = now_.ns(), .length_ns = length_ns}};
      // What other ranks measure is not looked at.
      ranks_[1].iterations = {{.number = 7, .begin_ns = now_.ns(), .length_ns = 1}};
      now_ = now_ + absl::Nanoseconds(length_ns);
      if (is_filled) {
        for (RankObservation& rank : ranks_) {
          rank.fillable_ns += 40'000'000;
          rank.overrun_ns += overrun_ns_;
        }
      }
      control_.Update(ranks_, now_);
      now_ = now_ + absl::Nanoseconds(1);
    }
  }
  v1::FillControl Describe() { return DescribeFill(ranks_[0], control_.control(), now_); }

  int64_t overrun_ns_ = 400'000;
  uint64_t next_ = 0;
  Instant now_ = Instant::FromNs(1);
  std::vector<RankObservation> ranks_ = {Rank(0), Rank(1)};
  MainJobControl control_{ControllerOptions(), 0.2, kHoldOut, 0.01};
};

TEST_F(MainJobControlTest, EstimatesFromTheLowestRank) {
  Run(400, 0.004);
  ASSERT_TRUE(control_.control().estimate.has_value());
  EXPECT_NEAR(control_.control().estimate->slowdown, 0.004, 1e-6);
  EXPECT_GT(control_.control().overrun_ratio, 0.2);
}

TEST_F(MainJobControlTest, OverrunIsThatOfAllRanksHere) {
  overrun_ns_ = 800'000;
  Run(100, 0.004);
  EXPECT_NEAR(control_.control().overrun_share, 0.02, 1e-6);
}

TEST_F(MainJobControlTest, OneRankThatCanBeFilledIsEnough) {
  ranks_[0].has_working_task = false;
  Run(400, 0.004);
  EXPECT_TRUE(control_.control().estimate.has_value());
}

TEST_F(MainJobControlTest, IterationsThatNothingCouldFillDoNotCount) {
  for (const auto& close :
       {+[](RankObservation& rank) { rank.has_working_task = false; },
        +[](RankObservation& rank) { rank.has_offer = false; },
        +[](RankObservation& rank) { rank.is_parked = true; },
        +[](RankObservation& rank) { rank.settings.is_paused = true; },
        +[](RankObservation& rank) { rank.settings.mode = FillMode::kReport; }}) {
    ranks_ = {Rank(0), Rank(1)};
    for (RankObservation& rank : ranks_) close(rank);
    Run(400, 0.05);
    EXPECT_FALSE(control_.control().estimate.has_value());
  }
}

TEST_F(MainJobControlTest, IterationDuringWhichATaskCameDoesNotCount) {
  // Every fourth iteration the task goes; those at whose begin it was not there do not count.
  for (int i = 0; i < 200; ++i) {
    for (RankObservation& rank : ranks_) rank.has_working_task = false;
    Run(1, 0.5);
    for (RankObservation& rank : ranks_) rank.has_working_task = true;
    // It comes with the end of this one.
    Run(1, 0.5);
    Run(6, 0.002);
  }
  ASSERT_TRUE(control_.control().estimate.has_value());
  EXPECT_NEAR(control_.control().estimate->slowdown, 0.002, 1e-6);
}

TEST_F(MainJobControlTest, BacksOffAndSaysWhy) {
  Run(400, 0.05);
  const v1::FillControl report = Describe();
  EXPECT_EQ(report.state(), v1::FILL_STATE_BACKED_OFF);
  EXPECT_EQ(report.text(), "slowdown 5 % (95 %: 5 .. 5 %) exceeds the budget of 1 %");
  EXPECT_EQ(report.back_offs(), 1);
  EXPECT_GT(report.retry_in_ns(), 0);
  EXPECT_NEAR(report.slowdown(), 0.05, 1e-6);
  EXPECT_NEAR(report.overrun_ratio(), 0.02, 1e-9);
}

TEST_F(MainJobControlTest, BudgetChangesWhileItRuns) {
  Run(400, 0.05);
  for (RankObservation& rank : ranks_) rank.settings.budget_ppm = 200'000;
  Run(1, 0.05);
  EXPECT_FALSE(control_.control().is_backed_off);
  EXPECT_EQ(Describe().budget_ppm(), 200'000u);
}

TEST_F(MainJobControlTest, NamesTheStateThatHoldsFirst) {
  SlowdownControl filling;
  filling.text = "fine";
  RankObservation rank = Rank(0);
  EXPECT_EQ(DescribeFill(rank, filling, now_).state(), v1::FILL_STATE_FILLING);
  EXPECT_EQ(DescribeFill(rank, filling, now_).text(), "fine");
  EXPECT_TRUE(std::isnan(DescribeFill(rank, filling, now_).slowdown()));
  rank.has_working_task = false;
  EXPECT_EQ(DescribeFill(rank, filling, now_).text(), "no task is ready to fill");
  rank.has_offer = false;
  EXPECT_EQ(DescribeFill(rank, filling, now_).state(), v1::FILL_STATE_LEARNING);
  rank.has_failure = true;
  EXPECT_EQ(DescribeFill(rank, filling, now_).state(), v1::FILL_STATE_FAILURE);
  rank.is_parked = true;
  EXPECT_EQ(DescribeFill(rank, filling, now_).state(), v1::FILL_STATE_PARKED);
  rank.settings.mode = FillMode::kReport;
  EXPECT_EQ(DescribeFill(rank, filling, now_).state(), v1::FILL_STATE_REPORTING);
  rank.settings.is_paused = true;
  EXPECT_EQ(DescribeFill(rank, filling, now_).state(), v1::FILL_STATE_PAUSED);
  rank.settings.mode = FillMode::kOff;
  EXPECT_EQ(DescribeFill(rank, filling, now_).state(), v1::FILL_STATE_OFF);
}

}  // namespace
}  // namespace pipefill
