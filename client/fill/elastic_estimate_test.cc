#include "client/fill/elastic_estimate.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "rapidcheck.h"
#include "rapidcheck/gtest.h"

namespace pipefill::sdk {
namespace {

constexpr uint64_t kUs = 1'000;
constexpr uint64_t kMs = 1'000'000;
constexpr SizeRange kRange = {.min = 1, .max = 64};

UnitMeasure Undisturbed(uint64_t wall_ns) {
  return {.wall_ns = wall_ns, .cpu_ns = wall_ns, .is_overrun = false};
}

UnitMeasure Overrun(uint64_t wall_ns, uint64_t cpu_ns) {
  return {.wall_ns = wall_ns, .cpu_ns = cpu_ns, .is_overrun = true};
}

// A task whose units of n pieces take 200 us + n 100 us.
constexpr uint64_t TrueNs(uint32_t size) { return 200 * kUs + size * 100 * kUs; }

uint32_t ChooseWithin(const ElasticEstimate& estimate, uint64_t rest_ns, SizeRange range = kRange) {
  return estimate.Choose(range, [rest_ns](uint64_t length_ns) { return length_ns <= rest_ns; });
}

// Runs units in a bubble of `rest_ns` until none fits; returns their sizes.
std::vector<uint32_t> FillBubble(ElasticEstimate& estimate, uint64_t rest_ns) {
  std::vector<uint32_t> sizes;
  for (;;) {
    const uint32_t size = ChooseWithin(estimate, rest_ns);
    if (estimate.EstimateNs(size) > rest_ns) return sizes;
    sizes.push_back(size);
    estimate.OnUnit(size, Undisturbed(TrueNs(size)));
    rest_ns -= std::min(rest_ns, TrueNs(size));
  }
}

TEST(ElasticEstimateTest, StartsWithTheSmallestSizeAndTheHint) {
  const ElasticEstimate estimate(7 * kMs);
  EXPECT_EQ(estimate.EstimateNs(1), 7 * kMs);
  EXPECT_EQ(ChooseWithin(estimate, UINT64_MAX), 1u);
  EXPECT_EQ(ChooseWithin(estimate, 0), 1u);
}

TEST(ElasticEstimateTest, BoundsWhatItHasNotSeenFromAbove) {
  ElasticEstimate estimate;
  estimate.OnUnit(8, Undisturbed(TrueNs(8)));
  EXPECT_EQ(estimate.EstimateNs(8), TrueNs(8));
  EXPECT_EQ(estimate.EstimateNs(1), TrueNs(8));
  EXPECT_EQ(estimate.EstimateNs(16), 2 * TrueNs(8));
}

TEST(ElasticEstimateTest, DoublesTheLargestSizeAtMost) {
  ElasticEstimate estimate;
  estimate.OnUnit(1, Undisturbed(TrueNs(1)));
  EXPECT_EQ(ChooseWithin(estimate, UINT64_MAX), 2u);
  estimate.OnUnit(2, Undisturbed(TrueNs(2)));
  EXPECT_EQ(ChooseWithin(estimate, UINT64_MAX), 4u);
}

TEST(ElasticEstimateTest, FindsTheLine) {
  ElasticEstimate estimate;
  for (const uint32_t size : {1u, 2u, 4u, 8u, 64u, 17u, 33u}) {
    estimate.OnUnit(size, Undisturbed(TrueNs(size)));
  }
  for (uint32_t size = 1; size <= 128; ++size) {
    EXPECT_NEAR(static_cast<double>(estimate.EstimateNs(size)), static_cast<double>(TrueNs(size)),
                2)
        << size;
  }
}

TEST(ElasticEstimateTest, FillsABubbleToItsEndWithEverSmallerUnits) {
  ElasticEstimate estimate(kMs);
  for (int i = 0; i < 20; ++i) FillBubble(estimate, 20 * kMs);
  uint64_t filled_ns = 0;
  for (const uint32_t size : FillBubble(estimate, 20 * kMs + 70 * kUs)) filled_ns += TrueNs(size);
  EXPECT_LE(filled_ns, 20 * kMs + 70 * kUs);
  EXPECT_GT(filled_ns, 20 * kMs + 70 * kUs - TrueNs(1) - kUs);
}

TEST(ElasticEstimateTest, TriesASmallUnitNowAndThenWhereNoBubbleEverEnds) {
  ElasticEstimate estimate(kMs);
  std::vector<uint32_t> sizes;
  for (int i = 0; i < 200; ++i) {
    sizes.push_back(ChooseWithin(estimate, UINT64_MAX));
    estimate.OnUnit(sizes.back(), Undisturbed(TrueNs(sizes.back())));
  }
  const auto large = std::count(sizes.end() - 64, sizes.end(), kRange.max);
  const auto small = std::count(sizes.end() - 64, sizes.end(), kRange.min);
  EXPECT_EQ(large + small, 64);
  EXPECT_GE(small, 3);
  EXPECT_LE(small, 5);
  EXPECT_NEAR(static_cast<double>(estimate.EstimateNs(20)), static_cast<double>(TrueNs(20)), 2);
}

TEST(ElasticEstimateTest, TriesNoSmallUnitWhereAllSizesAreAlike) {
  ElasticEstimate estimate;
  const SizeRange narrow = {.min = 40, .max = 64};
  for (int i = 0; i < 100; ++i) estimate.OnUnit(64, Undisturbed(TrueNs(64)));
  EXPECT_EQ(ChooseWithin(estimate, UINT64_MAX, narrow), 64u);
}

// Alternates two sizes.
void Learn(ElasticEstimate& estimate, int pairs) {
  for (int i = 0; i < pairs; ++i) {
    estimate.OnUnit(4, Undisturbed(TrueNs(4)));
    estimate.OnUnit(32, Undisturbed(TrueNs(32)));
  }
}

TEST(ElasticEstimateTest, IsNotMovedByOneInterruptedUnitOfEachKind) {
  ElasticEstimate estimate;
  Learn(estimate, 10);
  estimate.OnUnit(32, {.wall_ns = 50 * kMs, .cpu_ns = TrueNs(32), .is_overrun = false});
  estimate.OnUnit(4, {.wall_ns = 50 * kMs, .cpu_ns = TrueNs(4), .is_overrun = false});
  estimate.OnUnit(32, Overrun(50 * kMs, TrueNs(32)));
  for (const uint32_t size : {1u, 4u, 32u, 64u}) {
    EXPECT_NEAR(static_cast<double>(estimate.EstimateNs(size)), static_cast<double>(TrueNs(size)),
                2)
        << size;
  }
}

TEST(ElasticEstimateTest, IsAHighQuantileForSmallAndForLargeUnits) {
  ElasticEstimate estimate;
  for (uint64_t i = 0; i < 20; ++i) {
    const uint64_t noise_ns = i * 10 * kUs;
    estimate.OnUnit(4, Undisturbed(TrueNs(4) + noise_ns));
    estimate.OnUnit(32, Undisturbed(TrueNs(32) + noise_ns));
  }
  EXPECT_NEAR(static_cast<double>(estimate.EstimateNs(4)),
              static_cast<double>(TrueNs(4) + 170 * kUs), 100.0);
  EXPECT_NEAR(static_cast<double>(estimate.EstimateNs(32)),
              static_cast<double>(TrueNs(32) + 170 * kUs), 100.0);
}

TEST(ElasticEstimateTest, StaysAtTheLastOverrunOfThatSizeForAWhile) {
  ElasticEstimate estimate;
  Learn(estimate, 8);
  estimate.OnUnit(16, Overrun(9 * kMs, 9 * kMs));
  EXPECT_EQ(estimate.EstimateNs(16), 9 * kMs);
  EXPECT_EQ(estimate.EstimateNs(17), 9 * kMs);
  EXPECT_EQ(estimate.EstimateNs(8), 4500 * kUs);
  Learn(estimate, 16);
  EXPECT_NEAR(static_cast<double>(estimate.EstimateNs(16)), static_cast<double>(TrueNs(16)), 2);
}

TEST(ElasticEstimateTest, TakesUnitsThatGetShorterWithSizeForEquallyLong) {
  ElasticEstimate estimate;
  estimate.OnUnit(1, Undisturbed(9 * kMs));
  estimate.OnUnit(64, Undisturbed(3 * kMs));
  EXPECT_EQ(estimate.EstimateNs(1), 9 * kMs);
  EXPECT_EQ(estimate.EstimateNs(64), 9 * kMs);
}

TEST(ElasticEstimateTest, HalvesAGuessThatFitsNoBubble) {
  ElasticEstimate estimate(8 * kMs);
  for (uint32_t i = 0; i < Denials::kBeforeHalving; ++i) estimate.OnDenied();
  EXPECT_EQ(estimate.EstimateNs(1), 4 * kMs);
}

TEST(ElasticEstimateTest, DropsASlowStartUpUnitSoThatItCannotStarveTheTask) {
  ElasticEstimate estimate(5 * kMs);
  estimate.OnUnit(1, Overrun(2000 * kMs, 2000 * kMs));
  for (uint32_t i = 0; i < Denials::kBeforeDropFew; ++i) estimate.OnDenied();
  EXPECT_EQ(estimate.EstimateNs(1), 5 * kMs);
}

TEST(ElasticEstimateTest, DropsTheUnitFurthestAboveTheLine) {
  ElasticEstimate estimate;
  Learn(estimate, 8);
  estimate.OnUnit(2, Overrun(3 * kMs, 3 * kMs));
  ASSERT_EQ(estimate.EstimateNs(2), 3 * kMs);
  for (uint32_t i = 0; i < Denials::kBeforeDrop; ++i) estimate.OnDenied();
  EXPECT_NEAR(static_cast<double>(estimate.EstimateNs(2)), static_cast<double>(TrueNs(2)), 2);
}

RC_GTEST_PROP(ElasticEstimatePropertyTest, NeverFallsWithSizeAndStaysFinite, ()) {
  const auto units = *rc::gen::container<std::vector<std::tuple<uint32_t, uint64_t, bool>>>(
      rc::gen::tuple(rc::gen::arbitrary<uint32_t>(), rc::gen::arbitrary<uint64_t>(),
                     rc::gen::arbitrary<bool>()));
  ElasticEstimate estimate;
  for (const auto& [size, length_ns, is_overrun] : units) {
    estimate.OnUnit(size, {.wall_ns = length_ns, .cpu_ns = length_ns, .is_overrun = is_overrun});
  }
  uint64_t before_ns = 0;
  for (uint64_t size = 1; size <= UINT32_MAX; size = 2 * size + 1) {
    const uint64_t length_ns = estimate.EstimateNs(static_cast<uint32_t>(size));
    RC_ASSERT(length_ns >= before_ns);
    before_ns = length_ns;
  }
}

RC_GTEST_PROP(ElasticEstimatePropertyTest, ChoosesTheLargestThatFits, ()) {
  ElasticEstimate estimate;
  Learn(estimate, 20);
  const auto min = *rc::gen::inRange<uint32_t>(1, 40);
  const SizeRange range = {.min = min, .max = *rc::gen::inRange<uint32_t>(min, 65)};
  const auto rest_ns = *rc::gen::inRange<uint64_t>(0, 8 * kMs);
  const uint32_t size = ChooseWithin(estimate, rest_ns, range);
  RC_ASSERT(size >= range.min && size <= range.max);
  RC_ASSERT(size == range.min || estimate.EstimateNs(size) <= rest_ns);
  RC_ASSERT(size == range.max || estimate.EstimateNs(size + 1) > rest_ns);
}

}  // namespace
}  // namespace pipefill::sdk
