#include "agent/learn/latest_start.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "client/pages/window_page.h"

namespace pipefill {
namespace {

constexpr int64_t kMs = 1'000'000;

// E[max(0, t + u - L) | L > t], term by term.
double ExpectedOverrun(const std::vector<int64_t>& lengths, int64_t start, int64_t unit) {
  double sum = 0.0;
  int64_t open = 0;
  for (const int64_t length : lengths) {
    if (length <= start) continue;
    ++open;
    sum += static_cast<double>(std::max<int64_t>(0, start + unit - length));
  }
  return open == 0 ? static_cast<double>(unit) : sum / static_cast<double>(open);
}

// First offset on a grid at which the bound is broken.
int64_t FirstBreak(const std::vector<int64_t>& lengths, int64_t unit, double ratio, int64_t step) {
  const double bound = ratio * static_cast<double>(unit);
  int64_t start = 0;
  while (ExpectedOverrun(lengths, start, unit) <= bound) start += step;
  return start;
}

template <typename Distribution>
std::vector<int64_t> Draw(Distribution distribution, size_t count) {
  std::mt19937_64 generator(20'240'517);
  std::vector<int64_t> lengths;
  for (size_t i = 0; i < count; ++i) {
    const double length = distribution(generator) * static_cast<double>(kMs);
    lengths.push_back(std::max<int64_t>(1, static_cast<int64_t>(length)));
  }
  std::sort(lengths.begin(), lengths.end());
  return lengths;
}

void ExpectEqualsIntegration(const std::vector<int64_t>& lengths) {
  constexpr int64_t kStep = 2'000;
  for (const int64_t unit : {kMs / 2, kMs, 5 * kMs}) {
    for (const double ratio : {0.05, 0.2, 0.5, 0.9}) {
      const int64_t first_break = FirstBreak(lengths, unit, ratio, kStep);
      const int64_t latest = FindLatestStart(lengths, unit, ratio);
      SCOPED_TRACE(testing::Message() << "unit " << unit << " ratio " << ratio);
      EXPECT_LT(latest, first_break);
      EXPECT_GE(latest, first_break == 0 ? kNever : first_break - kStep);
    }
  }
}

TEST(LatestStartTest, ConstantLengthLeavesTheAllowedShareBehindTheEnd) {
  const std::vector<int64_t> lengths(64, 10 * kMs);
  EXPECT_EQ(FindLatestStart(lengths, kMs, 0.2), 9'200'000);
}

TEST(LatestStartTest, UnitLongerThanTheBubbleMayNeverStart) {
  EXPECT_EQ(FindLatestStart(std::vector<int64_t>(64, 10 * kMs), 13 * kMs, 0.2), kNever);
}

TEST(LatestStartTest, UnitThatOverrunsByExactlyTheAllowedShareMayStartAtTheBegin) {
  EXPECT_EQ(FindLatestStart(std::vector<int64_t>(8, 8'000), 10'000, 0.2), 0);
}

TEST(LatestStartTest, NothingMayStartWithoutLengths) {
  EXPECT_EQ(FindLatestStart({}, kMs, 0.2), kNever);
}

TEST(LatestStartTest, FewShortBubblesAmongLongOnesDoNotStopShortUnits) {
  // One in ten lasts 1 ms only: just before its end one start in ten overruns by up to a whole
  // unit.
  std::vector<int64_t> lengths(1, kMs);
  lengths.insert(lengths.end(), 9, 20 * kMs);
  EXPECT_GT(FindLatestStart(lengths, kMs / 2, 0.2), 19 * kMs);
  EXPECT_LT(FindLatestStart(lengths, kMs / 2, 0.05), kMs);
}

TEST(LatestStartTest, StopsBeforeTheFirstBreakEvenIfLaterStartsWereSafe) {
  // Half of the bubbles end at 1 ms; those that outlast it last 20 ms, but a gate has one cut-off.
  std::vector<int64_t> lengths(5, kMs);
  lengths.insert(lengths.end(), 5, 20 * kMs);
  EXPECT_LT(FindLatestStart(lengths, kMs / 2, 0.2), kMs);
}

TEST(LatestStartTest, EqualsIntegrationForConstantLengths) {
  ExpectEqualsIntegration(std::vector<int64_t>(64, 7 * kMs + 3));
}

TEST(LatestStartTest, EqualsIntegrationForNormalLengths) {
  ExpectEqualsIntegration(Draw(std::normal_distribution<double>(10.0, 2.0), 64));
}

TEST(LatestStartTest, EqualsIntegrationForBimodalLengths) {
  std::vector<int64_t> lengths = Draw(std::normal_distribution<double>(3.0, 0.2), 12);
  const std::vector<int64_t> longer = Draw(std::normal_distribution<double>(21.0, 1.0), 52);
  lengths.insert(lengths.end(), longer.begin(), longer.end());
  std::sort(lengths.begin(), lengths.end());
  ExpectEqualsIntegration(lengths);
}

TEST(LatestStartTest, EqualsIntegrationForHeavyTails) {
  ExpectEqualsIntegration(Draw(std::lognormal_distribution<double>(1.0, 1.2), 64));
}

TEST(LatestStartTest, HugeLengthsStayExact) {
  const std::vector<int64_t> lengths(64, kBubbleLengthMaxNs);
  EXPECT_EQ(FindLatestStart(lengths, 10'000, 0.5), kBubbleLengthMaxNs - 5'000);
}

struct Case {
  std::vector<int64_t> lengths;
  int64_t unit = 1;
  double ratio = 0.2;
};

Case DrawCase() {
  Case drawn;
  // Few distinct values as well as many: ties are where such code breaks.
  const int64_t spread = *rc::gen::element<int64_t>(3, 50, 100'000);
  drawn.lengths = *rc::gen::nonEmpty(
      rc::gen::container<std::vector<int64_t>>(rc::gen::inRange<int64_t>(1, spread + 1)));
  std::sort(drawn.lengths.begin(), drawn.lengths.end());
  drawn.unit = *rc::gen::inRange<int64_t>(1, 2 * spread);
  drawn.ratio = *rc::gen::inRange(1, 99) / 100.0;
  return drawn;
}

bool KeepsPromise(const Case& drawn, int64_t start) {
  const double allowed = drawn.ratio * static_cast<double>(drawn.unit) * (1.0 + 1e-9) + 1e-9;
  return ExpectedOverrun(drawn.lengths, start, drawn.unit) <= allowed;
}

RC_GTEST_PROP(LatestStartTest, EveryStartUpToItKeepsThePromiseAndTheNextBreaksIt, ()) {
  const Case drawn = DrawCase();
  const int64_t latest = FindLatestStart(drawn.lengths, drawn.unit, drawn.ratio);
  // g grows between two lengths: its peaks are just before them.
  for (const int64_t length : drawn.lengths) {
    if (length - 1 <= latest) RC_ASSERT(KeepsPromise(drawn, length - 1));
  }
  if (latest != kNever) RC_ASSERT(KeepsPromise(drawn, latest));
  // Offsets are whole nanoseconds; the break lies before the second next one, unless a length ends
  // the rise there.
  const double allowed = drawn.ratio * static_cast<double>(drawn.unit);
  double peak = 0.0;
  for (const double ahead : {0.25, 0.5, 0.75, 0.999999}) {
    double sum = 0.0;
    int64_t open = 0;
    const double start =
        static_cast<double>(std::max<int64_t>(latest, 0)) + (latest < 0 ? 0 : ahead);
    for (const int64_t length : drawn.lengths) {
      if (static_cast<double>(length) <= start) continue;
      ++open;
      sum += std::max(0.0, start + static_cast<double>(drawn.unit) - static_cast<double>(length));
    }
    RC_ASSERT(open > 0);
    peak = std::max(peak, sum / static_cast<double>(open));
  }
  RC_ASSERT(peak >= allowed - 1e-5 * static_cast<double>(drawn.unit));
}

RC_GTEST_PROP(LatestStartTest, GateThatReplaysTheLengthsStaysWithinTheOverrunItPromised, ()) {
  const Case drawn = DrawCase();
  const int64_t latest = FindLatestStart(drawn.lengths, drawn.unit, drawn.ratio);
  // The gate opens a little after the bubble, then one unit follows the other.
  const int64_t delay = *rc::gen::inRange<int64_t>(0, drawn.unit + 1);
  const int64_t pause = *rc::gen::inRange<int64_t>(0, drawn.unit + 1);
  int64_t started = 0;
  int64_t overrun = 0;
  for (const int64_t length : drawn.lengths) {
    for (int64_t start = delay; start <= latest && start < length; start += drawn.unit + pause) {
      started += drawn.unit;
      overrun += std::max<int64_t>(0, start + drawn.unit - length);
    }
  }
  RC_ASSERT(static_cast<double>(overrun) <=
            drawn.ratio * static_cast<double>(started) * (1.0 + 1e-9));
}

RC_GTEST_PROP(LatestStartTest, NeverGrowsWithTheUnit, ()) {
  const Case drawn = DrawCase();
  const int64_t longer = drawn.unit + *rc::gen::inRange<int64_t>(1, 1'000);
  RC_ASSERT(FindLatestStart(drawn.lengths, longer, drawn.ratio) <=
            FindLatestStart(drawn.lengths, drawn.unit, drawn.ratio));
}

RC_GTEST_PROP(LatestStartTest, NeverFallsWithTheAllowedOverrun, ()) {
  const Case drawn = DrawCase();
  const double larger = drawn.ratio + (0.99 - drawn.ratio) * *rc::gen::inRange(0, 100) / 100.0;
  RC_ASSERT(FindLatestStart(drawn.lengths, drawn.unit, larger) >=
            FindLatestStart(drawn.lengths, drawn.unit, drawn.ratio));
}

}  // namespace
}  // namespace pipefill
