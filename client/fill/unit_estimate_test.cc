#include "client/fill/unit_estimate.h"

#include <algorithm>
#include <vector>

#include "gtest/gtest.h"
#include "rapidcheck.h"
#include "rapidcheck/gtest.h"

namespace pipefill::sdk {
namespace {

constexpr uint64_t kMs = 1'000'000;

UnitMeasure Undisturbed(uint64_t wall_ns) {
  return {.wall_ns = wall_ns, .cpu_ns = wall_ns, .is_overrun = false};
}

UnitMeasure Overrun(uint64_t wall_ns, uint64_t cpu_ns) {
  return {.wall_ns = wall_ns, .cpu_ns = cpu_ns, .is_overrun = true};
}

void Add(UnitEstimate& estimate, const UnitMeasure& measure, size_t times) {
  for (size_t i = 0; i < times; ++i) estimate.OnUnit(measure);
}

void Deny(UnitEstimate& estimate, uint32_t times) {
  for (uint32_t i = 0; i < times; ++i) estimate.OnDenied();
}

TEST(UnitEstimateTest, StartsFromTheHintOrItsDefault) {
  EXPECT_EQ(UnitEstimate(7 * kMs).estimate_ns(), 7 * kMs);
  EXPECT_EQ(UnitEstimate().estimate_ns(), kDefaultHintNs);
}

TEST(UnitEstimateTest, ForgetsTheHintOnceAUnitWasMeasured) {
  UnitEstimate estimate(100 * kMs);
  estimate.OnUnit(Undisturbed(kMs));
  EXPECT_EQ(estimate.estimate_ns(), kMs);
}

TEST(UnitEstimateTest, IsTheNinetiethPercentileOfTheWindow) {
  UnitEstimate estimate;
  for (uint64_t length = 1; length <= 20; ++length) estimate.OnUnit(Undisturbed(length * kMs));
  EXPECT_EQ(estimate.estimate_ns(), 18 * kMs);
}

TEST(UnitEstimateTest, ForgetsLengthsThatLeftTheWindow) {
  UnitEstimate estimate;
  Add(estimate, Undisturbed(50 * kMs), UnitEstimate::kSamplesMax);
  Add(estimate, Undisturbed(2 * kMs), UnitEstimate::kSamplesMax);
  EXPECT_EQ(estimate.estimate_ns(), 2 * kMs);
}

// Two threads for 1 ms make 2 ms of CPU time, yet need 1 ms of a bubble.
TEST(UnitEstimateTest, CountsAnUndisturbedUnitWithItsWallTime) {
  UnitEstimate estimate;
  estimate.OnUnit({.wall_ns = kMs, .cpu_ns = 2 * kMs, .is_overrun = false});
  EXPECT_EQ(estimate.estimate_ns(), kMs);
}

TEST(UnitEstimateTest, LeavesTheMainJobsTimeOutOfAnOverrun) {
  UnitEstimate estimate;
  estimate.OnUnit(Overrun(40 * kMs, 3 * kMs));
  EXPECT_EQ(estimate.estimate_ns(), 3 * kMs);
}

TEST(UnitEstimateTest, ScalesAnOverrunByTheThreadsOfUndisturbedUnits) {
  UnitEstimate estimate;
  Add(estimate, {.wall_ns = 2 * kMs, .cpu_ns = 4 * kMs, .is_overrun = false}, 4);
  estimate.OnUnit(Overrun(40 * kMs, 10 * kMs));
  EXPECT_EQ(estimate.estimate_ns(), 5 * kMs);
}

// The main job's time, or an interrupt's, in one unit must not shut the gate for the next 32.
TEST(UnitEstimateTest, IsNotMovedByOneInterruptedUnit) {
  UnitEstimate estimate;
  Add(estimate, Undisturbed(kMs), 10);
  estimate.OnUnit({.wall_ns = 50 * kMs, .cpu_ns = kMs, .is_overrun = false});
  EXPECT_EQ(estimate.estimate_ns(), kMs);
  estimate.OnUnit(Overrun(50 * kMs, kMs));
  EXPECT_EQ(estimate.estimate_ns(), kMs);
}

TEST(UnitEstimateTest, ForgetsAnInterruptedUnitAmongTheFirstOnceItKnowsTen) {
  UnitEstimate estimate;
  estimate.OnUnit({.wall_ns = 50 * kMs, .cpu_ns = kMs, .is_overrun = false});
  EXPECT_EQ(estimate.estimate_ns(), 50 * kMs);
  Add(estimate, Undisturbed(kMs), 9);
  EXPECT_EQ(estimate.estimate_ns(), kMs);
}

TEST(UnitEstimateTest, NeverTakesAnOverrunForLongerThanItsWallTime) {
  UnitEstimate estimate;
  Add(estimate, {.wall_ns = 8 * kMs, .cpu_ns = kMs, .is_overrun = false}, 4);
  estimate.OnUnit(Overrun(10 * kMs, 5 * kMs));
  EXPECT_EQ(estimate.estimate_ns(), 10 * kMs);
}

TEST(UnitEstimateTest, StaysAtTheLastOverrunWhileThatIsInTheWindow) {
  UnitEstimate estimate;
  estimate.OnUnit(Overrun(30 * kMs, 9 * kMs));
  Add(estimate, Undisturbed(kMs), UnitEstimate::kSamplesMax - 1);
  EXPECT_EQ(estimate.estimate_ns(), 9 * kMs);
  estimate.OnUnit(Undisturbed(kMs));
  EXPECT_EQ(estimate.estimate_ns(), kMs);
}

TEST(UnitEstimateTest, HalvesAGuessThatFitsNoBubbleUntilAUnitCanBeTried) {
  UnitEstimate estimate(8 * kMs);
  Deny(estimate, Denials::kBeforeHalving - 1);
  EXPECT_EQ(estimate.estimate_ns(), 8 * kMs);
  Deny(estimate, 1);
  EXPECT_EQ(estimate.estimate_ns(), 4 * kMs);
  Deny(estimate, Denials::kBeforeHalving);
  EXPECT_EQ(estimate.estimate_ns(), 2 * kMs);
}

TEST(UnitEstimateTest, NeverGuessesLessThanTheSmallestLength) {
  UnitEstimate estimate(8 * kMs);
  Deny(estimate, 100 * Denials::kBeforeHalving);
  EXPECT_EQ(estimate.estimate_ns(), kGuessMinNs);
}

TEST(UnitEstimateTest, DropsASlowStartUpUnitSoThatItCannotStarveTheTask) {
  UnitEstimate estimate(5 * kMs);
  estimate.OnUnit(Overrun(2000 * kMs, 2000 * kMs));
  Deny(estimate, Denials::kBeforeDropFew - 1);
  EXPECT_EQ(estimate.estimate_ns(), 2000 * kMs);
  Deny(estimate, 1);
  EXPECT_EQ(estimate.estimate_ns(), 5 * kMs);
}

TEST(UnitEstimateTest, DropsOnlyTheLongestLengthAndMoreSlowlyOnceItKnowsSeveral) {
  UnitEstimate estimate;
  Add(estimate, Undisturbed(kMs), 5);
  estimate.OnUnit(Overrun(70 * kMs, 70 * kMs));
  Deny(estimate, Denials::kBeforeDrop - 1);
  EXPECT_EQ(estimate.estimate_ns(), 70 * kMs);
  Deny(estimate, 1);
  EXPECT_EQ(estimate.estimate_ns(), kMs);
}

TEST(UnitEstimateTest, CountsOnlyDenialsInARow) {
  UnitEstimate estimate(8 * kMs);
  Deny(estimate, Denials::kBeforeHalving - 1);
  estimate.OnUnit(Undisturbed(6 * kMs));
  Deny(estimate, Denials::kBeforeDropFew - 1);
  EXPECT_EQ(estimate.estimate_ns(), 6 * kMs);
}

// How many denials it takes until the estimate moves.
uint32_t DenialsUntilDrop(UnitEstimate& estimate) {
  const uint64_t before_ns = estimate.estimate_ns();
  uint32_t denials = 0;
  while (estimate.estimate_ns() == before_ns) {
    estimate.OnDenied();
    ++denials;
  }
  return denials;
}

TEST(UnitEstimateTest, TriesUnitsThatAreReallyTooLongEverMoreRarely) {
  UnitEstimate estimate(5 * kMs);
  estimate.OnUnit(Overrun(2000 * kMs, 2000 * kMs));
  EXPECT_EQ(DenialsUntilDrop(estimate), Denials::kBeforeDropFew);
  estimate.OnUnit(Overrun(2000 * kMs, 2000 * kMs));
  EXPECT_EQ(DenialsUntilDrop(estimate), 2 * Denials::kBeforeDropFew);
  estimate.OnUnit(Overrun(2000 * kMs, 2000 * kMs));
  EXPECT_EQ(DenialsUntilDrop(estimate), 4 * Denials::kBeforeDropFew);
}

TEST(UnitEstimateTest, ForgivesOnceAUnitFits) {
  UnitEstimate estimate(5 * kMs);
  for (int i = 0; i < 3; ++i) {
    estimate.OnUnit(Overrun(2000 * kMs, 2000 * kMs));
    DenialsUntilDrop(estimate);
  }
  estimate.OnUnit(Undisturbed(kMs));
  estimate.OnUnit(Overrun(9 * kMs, 9 * kMs));
  EXPECT_EQ(DenialsUntilDrop(estimate), Denials::kBeforeDropFew);
}

RC_GTEST_PROP(UnitEstimatePropertyTest, LiesBetweenShortestAndLongestOfTheWindow, ()) {
  const auto lengths = *rc::gen::nonEmpty(
      rc::gen::container<std::vector<uint64_t>>(rc::gen::inRange<uint64_t>(1, 1000 * kMs)));
  UnitEstimate estimate;
  for (const uint64_t length_ns : lengths) estimate.OnUnit(Undisturbed(length_ns));

  const size_t kept = std::min(lengths.size(), UnitEstimate::kSamplesMax);
  std::vector<uint64_t> window(lengths.end() - static_cast<std::ptrdiff_t>(kept), lengths.end());
  std::sort(window.begin(), window.end());
  const auto longer =
      static_cast<size_t>(std::count_if(window.begin(), window.end(), [&](uint64_t length_ns) {
        return length_ns > estimate.estimate_ns();
      }));
  RC_ASSERT(std::binary_search(window.begin(), window.end(), estimate.estimate_ns()));
  RC_ASSERT(10 * longer <= kept);
}

}  // namespace
}  // namespace pipefill::sdk
