#include "agent/learn/slowdown_estimate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <random>
#include <string>

#include "client/pages/hold_out.h"

namespace pipefill {
namespace {

constexpr double kBaseNs = 100e6;
constexpr HoldOut kSingle = {.block_iterations = 1, .one_in = 16};
constexpr HoldOut kBlocks = {.block_iterations = 4, .one_in = 2};

// Time of the next iteration, unfilled, in units of kBaseNs.
using Noise = std::function<double(uint64_t iteration, std::mt19937_64& random)>;
using MakeNoise = Noise (*)();

double Normal(std::mt19937_64& random) { return std::normal_distribution<double>()(random); }
double Uniform(std::mt19937_64& random) { return std::uniform_real_distribution<double>()(random); }

Noise Constant() {
  return [](uint64_t, std::mt19937_64& random) { return 1 + 0.02 * Normal(random); };
}
// +-20 % within 600 iterations.
Noise Drifting() {
  return [](uint64_t i, std::mt19937_64& random) {
    return (1 + 0.2 * std::sin(static_cast<double>(i) / 95.0)) * (1 + 0.02 * Normal(random));
  };
}
Noise Growing() {
  return [](uint64_t i, std::mt19937_64& random) {
    return std::exp(static_cast<double>(i) / 1500.0) * (1 + 0.02 * Normal(random));
  };
}
Noise Stepping() {
  return [level = 1.0](uint64_t, std::mt19937_64& random) mutable {
    if (Uniform(random) < 1.0 / 150) level = 0.8 + 0.4 * Uniform(random);
    return level * (1 + 0.02 * Normal(random));
  };
}
Noise Skewed() {
  return [](uint64_t, std::mt19937_64& random) { return 1 + 0.02 * std::exp(Normal(random)); };
}
Noise Wide() {
  return [](uint64_t, std::mt19937_64& random) { return std::exp(0.3 * Normal(random)); };
}
Noise Autocorrelated() {
  return [state = 0.0](uint64_t, std::mt19937_64& random) mutable {
    state = 0.9 * state + 0.02 * Normal(random);
    return 1 + state;
  };
}
Noise Checkpointing() {
  return [](uint64_t i, std::mt19937_64& random) {
    return (i % 100 == 37 ? 10 : 1) * (1 + 0.02 * Normal(random));
  };
}
Noise Stalling() {
  return [](uint64_t, std::mt19937_64& random) {
    return (Uniform(random) < 0.01 ? 10 : 1) * (1 + 0.02 * Normal(random));
  };
}

struct Kind {
  std::string name;
  MakeNoise make;
};
const Kind kKinds[] = {{"constant", Constant},
                       {"drifting", Drifting},
                       {"growing", Growing},
                       {"stepping", Stepping},
                       {"skewed", Skewed},
                       {"wide", Wide},
                       {"autocorrelated", Autocorrelated},
                       {"stalling", Stalling}};

std::optional<SlowdownEstimate> EstimateOf(Noise noise, const HoldOut& hold_out,
                                           uint64_t iterations, double slowdown, uint64_t seed) {
  std::mt19937_64 random(seed);
  SlowdownEstimator estimator;
  for (uint64_t i = 0; i < iterations; ++i) {
    const bool is_held_out = IsHeldOut(hold_out, i);
    const double time = noise(i, random) * (is_held_out ? 1 : 1 + slowdown);
    estimator.OnIteration({.number = i,
                           .length_ns = static_cast<int64_t>(time * kBaseNs),
                           .kind = is_held_out ? IterationFill::kHeldOut : IterationFill::kFilled});
  }
  return estimator.Estimate();
}

struct Quality {
  double covered = 0;
  double too_high = 0;  // the whole interval lies above the truth
  double mean = 0;
  double half = 0;
};

Quality QualityOf(const Kind& kind, const HoldOut& hold_out, uint64_t iterations, double slowdown,
                  int seeds) {
  Quality quality;
  for (int seed = 0; seed < seeds; ++seed) {
    const std::optional<SlowdownEstimate> estimate =
        EstimateOf(kind.make(), hold_out, iterations, slowdown, static_cast<uint64_t>(seed));
    if (!estimate.has_value()) continue;
    quality.covered += estimate->low <= slowdown && slowdown <= estimate->high ? 1 : 0;
    quality.too_high += slowdown < estimate->low ? 1 : 0;
    quality.mean += estimate->slowdown;
    quality.half += (estimate->high - estimate->low) / 2;
  }
  for (double* value : {&quality.covered, &quality.too_high, &quality.mean, &quality.half}) {
    *value /= seeds;
  }
  return quality;
}

TEST(SlowdownEstimateTest, IntervalsHoldTheTruthWhateverTheNoise) {
  for (const HoldOut& hold_out : {kSingle, kBlocks}) {
    for (const Kind& kind : kKinds) {
      const Quality quality = QualityOf(kind, hold_out, 300, 0.01, 1000);
      EXPECT_GE(quality.covered, 0.93) << kind.name << " 1 in " << hold_out.one_in;
      EXPECT_LE(quality.too_high, 0.035) << kind.name << " 1 in " << hold_out.one_in;
    }
  }
}

TEST(SlowdownEstimateTest, NineHoldOutsAreEnoughForAnHonestInterval) {
  for (const Kind& kind : kKinds) {
    const Quality quality = QualityOf(kind, kSingle, 150, 0.01, 1000);
    EXPECT_GE(quality.covered, 0.93) << kind.name;
    EXPECT_LE(quality.too_high, 0.035) << kind.name;
  }
}

TEST(SlowdownEstimateTest, IterationsOfTenTimesTheLengthOnAFixedPeriodDoNotMislead) {
  const Quality quality = QualityOf({"checkpointing", Checkpointing}, kSingle, 1000, 0.01, 1000);
  EXPECT_GE(quality.covered, 0.93);
  EXPECT_LE(quality.half, 0.008);
}

// Three standard errors of the mean over the seeds.
TEST(SlowdownEstimateTest, HasNoBiasWhereFillingCostsNothing) {
  constexpr int kSeeds = 400;
  for (const Kind& kind : kKinds) {
    const Quality quality = QualityOf(kind, kSingle, 600, 0.0, kSeeds);
    EXPECT_LE(std::abs(quality.mean), 3 * (quality.half / 2) / std::sqrt(kSeeds)) << kind.name;
  }
}

TEST(SlowdownEstimateTest, SeesThreePercentWithinAThousandIterations) {
  for (const MakeNoise make : {Constant, Drifting, Stepping, Stalling}) {
    int seen = 0;
    for (uint64_t seed = 0; seed < 100; ++seed) {
      seen += EstimateOf(make(), kSingle, 1000, 0.03, seed)->low > 0.01 ? 1 : 0;
    }
    EXPECT_GE(seen, 97);
  }
}

TEST(SlowdownEstimateTest, TellsAThirdOfAPercentFromOnePercentInThreeThousandIterations) {
  int told = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    told += EstimateOf(Constant(), kSingle, 3000, 0.003, seed)->high < 0.01 ? 1 : 0;
  }
  EXPECT_GE(told, 95);
}

class SlowdownEstimatorTest : public testing::Test {
 protected:
  void Take(IterationFill kind, int64_t length_ns) {
    estimator_.OnIteration({.number = next_++, .length_ns = length_ns, .kind = kind});
  }
  void TakeMany(IterationFill kind, int64_t length_ns, int times) {
    for (int i = 0; i < times; ++i) Take(kind, length_ns);
  }
  void TakeGroups(int groups, int64_t filled_ns) {
    for (int i = 0; i < groups; ++i) {
      TakeMany(IterationFill::kFilled, filled_ns, 18);
      Take(IterationFill::kHeldOut, 100'000);
    }
    TakeMany(IterationFill::kFilled, filled_ns, 18);
  }

  uint64_t next_ = 0;
  SlowdownEstimator estimator_;
};

TEST_F(SlowdownEstimatorTest, ComparesFilledWithHeldOut) {
  TakeGroups(kComparisonsMin, 102'000);
  const std::optional<SlowdownEstimate> estimate = estimator_.Estimate();
  ASSERT_TRUE(estimate.has_value());
  EXPECT_NEAR(estimate->slowdown, 0.02, 1e-9);
  EXPECT_NEAR(estimate->low, estimate->high, 1e-9);
  EXPECT_EQ(estimate->hold_outs, 8);
  EXPECT_EQ(estimate->filled, 8 * 16);
}

TEST_F(SlowdownEstimatorTest, SaysNothingWithFewerThanEightComparisons) {
  TakeGroups(kComparisonsMin - 1, 102'000);
  EXPECT_FALSE(estimator_.Estimate().has_value());
}

TEST_F(SlowdownEstimatorTest, IterationsInWhichNothingCouldBeFilledDoNotCount) {
  for (size_t i = 0; i <= kComparisonsMin; ++i) {
    TakeMany(IterationFill::kNeither, 500'000, 5);
    TakeMany(IterationFill::kFilled, 103'000, 4);
    Take(IterationFill::kHeldOut, 100'000);
    TakeMany(IterationFill::kFilled, 103'000, 4);
    TakeMany(IterationFill::kNeither, 500'000, 5);
  }
  EXPECT_NEAR(estimator_.Estimate()->slowdown, 0.03, 1e-9);
}

TEST_F(SlowdownEstimatorTest, HoldOutsWithoutFilledNeighboursDoNotCount) {
  for (int i = 0; i < 20; ++i) {
    TakeMany(IterationFill::kFilled, 103'000, 4);
    TakeMany(IterationFill::kNeither, 100'000, 10);
    Take(IterationFill::kHeldOut, 100'000);
    TakeMany(IterationFill::kNeither, 100'000, 10);
  }
  EXPECT_FALSE(estimator_.Estimate().has_value());
}

TEST_F(SlowdownEstimatorTest, TheIterationBehindAHoldOutIsNotCompared) {
  for (size_t i = 0; i <= kComparisonsMin; ++i) {
    TakeMany(IterationFill::kFilled, 101'000, 8);
    Take(IterationFill::kHeldOut, 100'000);
    Take(IterationFill::kFilled, 60'000);
    TakeMany(IterationFill::kFilled, 101'000, 10);
  }
  EXPECT_NEAR(estimator_.Estimate()->slowdown, 0.01, 1e-9);
}

TEST_F(SlowdownEstimatorTest, TheFirstOfALongRunIsNotCompared) {
  for (size_t i = 0; i <= kComparisonsMin; ++i) {
    TakeMany(IterationFill::kFilled, 101'000, 6);
    Take(IterationFill::kHeldOut, 140'000);
    TakeMany(IterationFill::kHeldOut, 100'000, 3);
  }
  TakeMany(IterationFill::kFilled, 101'000, 18);
  EXPECT_NEAR(estimator_.Estimate()->slowdown, 0.01, 1e-9);
  EXPECT_EQ(estimator_.Estimate()->hold_outs, 27);
}

TEST_F(SlowdownEstimatorTest, AGapInTheNumbersEndsANeighbourhood) {
  for (size_t i = 0; i <= kComparisonsMin; ++i) {
    TakeMany(IterationFill::kFilled, 300'000, 8);
    next_ += 5;
    TakeMany(IterationFill::kFilled, 101'000, 3);
    Take(IterationFill::kHeldOut, 100'000);
    TakeMany(IterationFill::kFilled, 101'000, 3);
    next_ += 5;
  }
  EXPECT_NEAR(estimator_.Estimate()->slowdown, 0.01, 1e-9);
}

TEST_F(SlowdownEstimatorTest, ForgetsWhatIsOlderThanItsWindow) {
  TakeGroups(500, 150'000);
  TakeGroups(kComparisonsMax + 1, 101'000);
  EXPECT_NEAR(estimator_.Estimate()->slowdown, 0.01, 1e-9);
  EXPECT_EQ(estimator_.Estimate()->hold_outs, static_cast<int64_t>(kComparisonsMax));
}

TEST_F(SlowdownEstimatorTest, TheNewestComparisonsCanBeAskedAlone) {
  TakeGroups(100, 101'000);
  TakeGroups(17, 104'000);
  EXPECT_NEAR(estimator_.Estimate(16)->slowdown, 0.04, 1e-9);
  EXPECT_LT(estimator_.Estimate()->slowdown, 0.02);
}

TEST_F(SlowdownEstimatorTest, ForgetBeginsAnew) {
  TakeGroups(20, 150'000);
  estimator_.Forget();
  EXPECT_FALSE(estimator_.Estimate().has_value());
  TakeGroups(kComparisonsMin + 1, 101'000);
  EXPECT_NEAR(estimator_.Estimate()->slowdown, 0.01, 1e-9);
}

TEST_F(SlowdownEstimatorTest, AbsurdInputIsBorne) {
  for (const int64_t length : {std::numeric_limits<int64_t>::min(), int64_t{-1}, int64_t{0},
                               int64_t{1}, std::numeric_limits<int64_t>::max() / 4096}) {
    for (int i = 0; i < 400; ++i) {
      Take(i % 7 == 0 ? IterationFill::kHeldOut : IterationFill::kFilled, length);
    }
  }
  TakeMany(IterationFill::kHeldOut, 100'000, 1000);
  const std::optional<SlowdownEstimate> estimate = estimator_.Estimate();
  ASSERT_TRUE(estimate.has_value());
  EXPECT_TRUE(std::isfinite(estimate->slowdown));
  EXPECT_LE(estimate->low, estimate->high);
}

}  // namespace
}  // namespace pipefill
