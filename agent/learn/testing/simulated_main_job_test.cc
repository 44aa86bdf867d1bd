// The worst cases: in each of them the main job, averaged over the run, pays no more than its
// budget.

#include "agent/learn/testing/simulated_main_job.h"

#include <gtest/gtest.h>

#include <cmath>

namespace pipefill {
namespace {

constexpr double kBudget = 0.01;

std::function<double(uint64_t)> Always(double value) {
  return [value](uint64_t) { return value; };
}

double Drift(uint64_t iteration) {
  return 1 + 0.2 * std::sin(static_cast<double>(iteration) / 60.0);
}

TEST(WorstCaseTest, CheapFillingGoesToTheEndOfTheBubbles) {
  SimulatedMainJob job({.filled_cost = Always(0.003)});
  const SimulatedRun learning = job.Run(2000);
  const SimulatedRun run = job.Run(4000);
  EXPECT_LE(learning.slowdown, 0.004);
  EXPECT_LE(run.slowdown, 0.004);
  EXPECT_EQ(job.control().overrun_ratio, 0.5);
  EXPECT_GE(run.filled_share, 0.9);
  EXPECT_LE(run.overrun_share, 0.03);
}

TEST(WorstCaseTest, LambdaRisesNoFurtherThanTheOverrunTarget) {
  // Short bubbles of uncertain length: at 0.5 more than 4 % of the bubble time would be overrun.
  SimulatedMainJob job({.bubble_ns = 5e6, .bubble_spread = 0.25, .filled_cost = Always(0.003)});
  job.Run(2000);
  const SimulatedRun run = job.Run(4000);
  EXPECT_LE(run.overrun_share, 0.03);
  EXPECT_GE(run.overrun_share, 0.015);
  EXPECT_LT(job.control().overrun_ratio, 0.5);
  EXPECT_LE(run.slowdown, kBudget);
}

TEST(WorstCaseTest, CostOfOverrunIsHeldToTheBudgetByLambda) {
  SimulatedMainJob job({.bubble_ns = 5e6, .bubble_spread = 0.25, .overrun_cost = 3.0});
  // The start, at 0.2, is over it: some hundred iterations until that is known.
  job.Run(1000);
  const SimulatedRun run = job.Run(8000);
  EXPECT_LE(run.slowdown, kBudget);
  EXPECT_GE(run.filled_share, 0.5);
  EXPECT_EQ(job.control().back_offs, 0);
}

TEST(WorstCaseTest, BudgetThatCannotBeMetStopsTheFilling) {
  SimulatedMainJob job({.filled_cost = Always(0.05)});
  const SimulatedRun first = job.Run(400);
  // At most 200 filled iterations at 5 % until it is sure.
  EXPECT_TRUE(job.control().is_backed_off);
  EXPECT_LE(first.filled_iterations, 200);
  EXPECT_TRUE(job.control().text.ends_with("exceeds the budget of 1 %")) << job.control().text;
  const SimulatedRun run = job.RunFor(absl::Hours(2));
  EXPECT_GE(job.control().back_offs, 4);
  EXPECT_LE(run.slowdown, kBudget / 2);
}

TEST(WorstCaseTest, FillsAgainOnceTheCostIsGone) {
  SimulatedMainJob job({.filled_cost = [](uint64_t i) { return i < 3000 ? 0.05 : 0.001; }});
  job.Run(3000);
  EXPECT_GE(job.control().back_offs, 2);
  job.RunFor(absl::Minutes(20));
  const SimulatedRun run = job.Run(1000);
  EXPECT_GE(run.filled_share, 0.7);
  EXPECT_LE(run.slowdown, kBudget);
}

TEST(WorstCaseTest, FillJobThatLiesAboutItsUnitsIsContained) {
  SimulatedMainJob job({.unit_ns = 10e6, .claimed_unit_ns = 1e6, .overrun_cost = 0.5});
  // Until the guards have grown: 16 bubbles, and what they cost is made good within the run.
  const SimulatedRun first = job.Run(300);
  EXPECT_LE(first.slowdown, 0.06);
  const SimulatedRun run = job.Run(6000);
  EXPECT_LE(run.slowdown, kBudget);
  EXPECT_GT(job.guard_ns(0), 0);
}

TEST(WorstCaseTest, MainJobWhoseSpeedDriftsKeepsItsFilling) {
  for (const uint64_t seed : {1u, 2u, 3u}) {
    SimulatedMainJob job({.pace = Drift, .filled_cost = Always(0.002), .seed = seed});
    const SimulatedRun run = job.Run(5000);
    EXPECT_LE(run.slowdown, kBudget);
    EXPECT_EQ(job.control().back_offs, 0);
    EXPECT_GE(run.filled_share, 0.7);
    EXPECT_NEAR(job.control().estimate->slowdown, 0.002, 0.005);
  }
}

TEST(WorstCaseTest, DriftDoesNotHideWhatFillingCosts) {
  SimulatedMainJob job({.pace = Drift, .filled_cost = Always(0.05)});
  const SimulatedRun run = job.RunFor(absl::Minutes(30));
  EXPECT_GE(job.control().back_offs, 2);
  EXPECT_LE(run.slowdown, kBudget);
}

TEST(WorstCaseTest, MainJobWithoutBubblesIsLeftAlone) {
  SimulatedMainJob job(
      {.has_bubbles = [](uint64_t) { return false; }, .filled_cost = Always(0.05)});
  const SimulatedRun run = job.Run(2000);
  EXPECT_EQ(run.slowdown, 0);
  EXPECT_EQ(run.filled_iterations, 0);
  EXPECT_FALSE(job.control().estimate.has_value());
  EXPECT_EQ(job.control().back_offs, 0);
}

TEST(WorstCaseTest, BubblesThatVanishTakeTheFillingWithThem) {
  SimulatedMainJob job({.has_bubbles = [](uint64_t i) { return i < 1500 || i >= 3000; },
                        .filled_cost = Always(0.003),
                        .overrun_cost = 0.3});
  job.Run(1500);
  const SimulatedRun without = job.Run(1500);
  EXPECT_EQ(without.slowdown, 0);
  EXPECT_EQ(without.overrun_share, 0);
  const SimulatedRun again = job.Run(2000);
  EXPECT_LE(again.slowdown, kBudget);
  EXPECT_GE(again.filled_share, 0.7);
  EXPECT_EQ(job.control().back_offs, 0);
}

TEST(WorstCaseTest, NoiseAloneDoesNotStopTheFilling) {
  int64_t back_offs = 0;
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    SimulatedMainJob job({.bubbles = 1, .noise = 0.08, .seed = seed});
    job.Run(3000);
    back_offs += job.control().back_offs;
  }
  EXPECT_EQ(back_offs, 0);
}

TEST(WorstCaseTest, SameSeedSameRun) {
  SimulatedMainJob a({.overrun_cost = 1.0, .seed = 7});
  SimulatedMainJob b({.overrun_cost = 1.0, .seed = 7});
  EXPECT_EQ(a.Run(500).slowdown, b.Run(500).slowdown);
}

}  // namespace
}  // namespace pipefill
