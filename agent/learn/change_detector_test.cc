#include "agent/learn/change_detector.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <vector>

#include "agent/learn/recent_values.h"

namespace pipefill {
namespace {

// Keeps lengths as the predictor does.
class Kept {
 public:
  // How many of the newest are of a new kind.
  size_t Add(int64_t length_ns) {
    const size_t run = lengths_.size() < 8 ? 0 : detector_.OnLength(lengths_.sorted(), length_ns);
    lengths_.Add(length_ns);
    if (run > 0) lengths_.KeepNewest(run);
    return run;
  }

 private:
  RecentValues lengths_ = RecentValues(64);
  ChangeDetector detector_;
};

using Draw = std::function<double(std::mt19937_64&)>;

int64_t ToNs(double ms) { return std::max<int64_t>(1, static_cast<int64_t>(ms * 1e6)); }

// Lengths until a step is seen, of `runs` runs; the given quantile.
size_t StepDelay(double jitter, double factor, double quantile) {
  std::vector<size_t> delays;
  for (unsigned run = 0; run < 200; ++run) {
    std::mt19937_64 generator(run);
    std::normal_distribution<double> length(10.0, 10.0 * jitter);
    Kept kept;
    for (int i = 0; i < 100; ++i) kept.Add(ToNs(length(generator)));
    size_t delay = 1;
    while (kept.Add(ToNs(factor * length(generator))) == 0 && delay < 100) ++delay;
    delays.push_back(delay);
  }
  std::sort(delays.begin(), delays.end());
  return delays[static_cast<size_t>(quantile * static_cast<double>(delays.size() - 1))];
}

// Changes seen in `lengths` lengths of one and the same kind.
int FalseAlarms(const Draw& draw, int lengths) {
  std::mt19937_64 generator(99);
  Kept kept;
  int alarms = 0;
  for (int i = 0; i < lengths; ++i) alarms += kept.Add(ToNs(draw(generator))) > 0 ? 1 : 0;
  return alarms;
}

TEST(ChangeDetectorTest, SeesAStepByThreeTenthsWithinFiveLengthsWhenTheJitterIsSmall) {
  for (const double jitter : {0.001, 0.02, 0.05}) {
    EXPECT_LE(StepDelay(jitter, 1.3, 1.0), 6u) << jitter;
    EXPECT_LE(StepDelay(jitter, 0.7, 1.0), 6u) << jitter;
    EXPECT_LE(StepDelay(jitter, 1.3, 0.5), 5u) << jitter;
    EXPECT_LE(StepDelay(jitter, 0.7, 0.5), 5u) << jitter;
  }
}

TEST(ChangeDetectorTest, SeesAStepByThreeTenthsWithinEightLengthsWhenTheJitterIsATenth) {
  EXPECT_LE(StepDelay(0.1, 1.3, 0.9), 8u);
  EXPECT_LE(StepDelay(0.1, 0.7, 0.9), 8u);
}

TEST(ChangeDetectorTest, TakesOneLengthInThreeThousandForAChangeAtMostWhenNothingChanges) {
  constexpr int kLengths = 60'000;
  std::normal_distribution<double> normal(10.0, 1.0);
  std::lognormal_distribution<double> heavy(1.0, 0.8);
  std::uniform_real_distribution<double> even(0.0, 1.0);
  const Draw pareto = [&](auto& generator) { return std::pow(1.0 - even(generator), -1.0 / 1.5); };
  const Draw bimodal = [&](auto& generator) {
    return even(generator) < 0.2 ? 3.0 : 20.0 + even(generator);
  };
  for (const Draw& draw : {Draw(normal), Draw(heavy), pareto, bimodal}) {
    EXPECT_LE(FalseAlarms(draw, kLengths), kLengths / 3'000);
  }
}

TEST(ChangeDetectorTest, SeesNoChangeInEqualLengths) {
  EXPECT_EQ(FalseAlarms([](auto&) { return 10.0; }, 1'000), 0);
}

TEST(ChangeDetectorTest, SaysHowManyLengthsAreOfTheNewKind) {
  Kept kept;
  for (int i = 0; i < 64; ++i) kept.Add(ToNs(10.0));
  size_t added = 1;
  size_t run = 0;
  while ((run = kept.Add(ToNs(14.0))) == 0) ++added;
  EXPECT_EQ(run, added);
}

TEST(ChangeDetectorTest, OneLengthOfTheOldKindDelaysAChangeButDoesNotHideIt) {
  std::mt19937_64 generator(3);
  std::normal_distribution<double> length(10.0, 0.3);
  Kept kept;
  for (int i = 0; i < 64; ++i) kept.Add(ToNs(length(generator)));
  for (int i = 0; i < 4; ++i) EXPECT_EQ(kept.Add(ToNs(14.0)), 0u);
  EXPECT_EQ(kept.Add(ToNs(10.3)), 0u);
  size_t more = 1;
  while (kept.Add(ToNs(14.0)) == 0) ++more;
  EXPECT_LE(more, 3u);
}

}  // namespace
}  // namespace pipefill
