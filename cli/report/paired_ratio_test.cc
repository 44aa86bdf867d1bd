#include "cli/report/paired_ratio.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "common/median.h"

namespace pipefill {
namespace {

IterationPair Pair(double filled, double held_out) {
  return {.filled_median_ns = filled,
          .held_out_median_ns = held_out,
          .filled_mean_ns = filled,
          .held_out_mean_ns = held_out};
}

TEST(PairedRatioTest, HasNoValueWithoutPairs) {
  EXPECT_FALSE(MedianOfRatios({}, 1).has_value());
  EXPECT_FALSE(RatioOfMeans({}, 1).has_value());
}

TEST(PairedRatioTest, TakesTheMedianOfTheRatios) {
  const auto estimate = MedianOfRatios({Pair(101, 100), Pair(306, 300), Pair(500, 100)}, 1);
  EXPECT_NEAR(estimate->change, 0.02, 1e-12);
  EXPECT_EQ(estimate->pairs, 3u);
}

TEST(PairedRatioTest, TakesTheRatioOfTheSumsForMeans) {
  EXPECT_NEAR(RatioOfMeans({Pair(101, 100), Pair(399, 300)}, 1)->change, 0.25, 1e-12);
}

TEST(PairedRatioTest, GivesNoIntervalFromTooFewPairs) {
  const std::vector<IterationPair> pairs(kPairsMin - 1, Pair(101, 100));
  EXPECT_FALSE(MedianOfRatios(pairs, 1)->interval.has_value());
}

TEST(PairedRatioTest, IntervalOfEqualPairsIsAPoint) {
  const auto estimate = MedianOfRatios(std::vector<IterationPair>(kPairsMin, Pair(101, 100)), 1);
  ASSERT_TRUE(estimate->interval.has_value());
  EXPECT_NEAR(estimate->interval->lo, 0.01, 1e-12);
  EXPECT_NEAR(estimate->interval->hi, 0.01, 1e-12);
}

TEST(PairedRatioTest, GivesTheSameIntervalForTheSameSeed) {
  std::vector<IterationPair> pairs;
  pairs.reserve(20);
  for (int i = 0; i < 20; ++i) pairs.push_back(Pair(100 + i * 37 % 11, 100));
  const auto one = MedianOfRatios(pairs, 5);
  const auto two = MedianOfRatios(pairs, 5);
  EXPECT_EQ(one->interval->lo, two->interval->lo);
  EXPECT_EQ(one->interval->hi, two->interval->hi);
  EXPECT_LE(one->interval->lo, one->change);
  EXPECT_GE(one->interval->hi, one->change);
}

// Draws pairs like a run's: the machine drifts, iteration times are skewed, and the median of 15
// filled iterations stands against one hold-out.
std::vector<IterationPair> DrawPairs(double change, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::exponential_distribution<double> skewed(1);
  std::vector<IterationPair> pairs;
  for (int i = 0; i < 40; ++i) {
    const double level = 100 + 20 * std::sin(i / 7.0);
    std::vector<double> filled;
    filled.reserve(15);
    for (int k = 0; k < 15; ++k)
      filled.push_back(level * (1 + change) * (1 + 0.02 * skewed(random)));
    pairs.push_back(Pair(Median(filled), level * (1 + 0.02 * skewed(random))));
  }
  return pairs;
}

TEST(PairedRatioTest, IntervalHoldsTheTruthAboutAsOftenAsItSays) {
  int held = 0;
  double sum = 0;
  constexpr int kRuns = 60;
  for (uint64_t seed = 0; seed < kRuns; ++seed) {
    const auto estimate = MedianOfRatios(DrawPairs(0.01, seed), seed);
    held += estimate->interval->lo <= 0.01 && 0.01 <= estimate->interval->hi ? 1 : 0;
    sum += estimate->change;
  }
  EXPECT_GE(held, kRuns * 85 / 100);
  EXPECT_NEAR(sum / kRuns, 0.01, 0.001) << "skew must not look like a change";
}

TEST(PairedRatioTest, InterpolatesQuantiles) {
  EXPECT_EQ(QuantileOfSorted({1, 2, 3, 4, 5}, 0.5), 3);
  EXPECT_EQ(QuantileOfSorted({1, 2}, 0.25), 1.25);
  EXPECT_EQ(QuantileOfSorted({7}, 0.9), 7);
  EXPECT_EQ(QuantileOfSorted({1, 9}, 1), 9);
}

}  // namespace
}  // namespace pipefill
