#include "agent/learn/bubble_predictor.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>

#include "agent/learn/latest_start.h"

namespace pipefill {
namespace {

constexpr int64_t kMs = 1'000'000;
constexpr uint32_t kSlot = 3;

// The first length of a slot is not learned: `Learn` gives one that would show.
void Learn(BubblePredictor& predictor, int64_t length_ns, int times) {
  if (predictor.Summarise(kSlot).count == 0) predictor.OnLength(kSlot, 3'000 * kMs);
  for (int i = 0; i < times; ++i) predictor.OnLength(kSlot, length_ns);
}

// Latest start of a unit of 1 ms.
int64_t StartOfMillisecond(const BubblePredictor& predictor) {
  for (size_t i = 0; i < kUnitLadder; ++i) {
    if (predictor.unit_ns()[i] == kMs) return predictor.WindowOf(kSlot).latest_start_ns[i];
  }
  return -2;
}

TEST(BubblePredictorTest, OffersNothingForSlotsItNeverSaw) {
  const BubblePredictor predictor({});
  EXPECT_FALSE(predictor.WindowOf(kSlot).is_offered);
  EXPECT_EQ(StartOfMillisecond(predictor), kNever);
}

TEST(BubblePredictorTest, OffersAfterTheEighthLearnedLength) {
  BubblePredictor predictor({});
  Learn(predictor, 10 * kMs, 7);
  EXPECT_FALSE(predictor.WindowOf(kSlot).is_offered);
  Learn(predictor, 10 * kMs, 1);
  EXPECT_TRUE(predictor.WindowOf(kSlot).is_offered);
  EXPECT_EQ(StartOfMillisecond(predictor), 9'200'000);
}

TEST(BubblePredictorTest, DoesNotLearnTheFirstLengthOfASlot) {
  BubblePredictor predictor({});
  Learn(predictor, 10 * kMs, 8);
  EXPECT_EQ(predictor.Summarise(kSlot).count, 9);
  EXPECT_EQ(predictor.Summarise(kSlot).p90_ns, 10 * kMs);
}

TEST(BubblePredictorTest, LearnsEverySlotByItself) {
  BubblePredictor predictor({});
  Learn(predictor, 10 * kMs, 64);
  EXPECT_FALSE(predictor.WindowOf(kSlot + 1).is_offered);
}

TEST(BubblePredictorTest, DoesNotOfferBubblesWithAShortMedian) {
  BubblePredictor predictor({.bubble_min = absl::Milliseconds(2)});
  Learn(predictor, 2 * kMs - 1, 64);
  EXPECT_FALSE(predictor.WindowOf(kSlot).is_offered);
  EXPECT_EQ(StartOfMillisecond(predictor), kNever);
}

TEST(BubblePredictorTest, WithdrawsABubbleThatBecameShort) {
  BubblePredictor predictor({.bubble_min = absl::Milliseconds(2)});
  Learn(predictor, 10 * kMs, 64);
  ASSERT_TRUE(predictor.WindowOf(kSlot).is_offered);
  Learn(predictor, kMs, 8);
  EXPECT_FALSE(predictor.WindowOf(kSlot).is_offered);
}

TEST(BubblePredictorTest, TableIsTheLatestStartOfEachEntryOfTheLadder) {
  BubblePredictor predictor({.overrun_ratio = 0.3});
  std::mt19937_64 generator(7);
  std::normal_distribution<double> lengths(12e6, 1e6);
  RecentValues model(64);
  Learn(predictor, 0, 0);
  for (int i = 0; i < 100; ++i) {
    const auto length = static_cast<int64_t>(lengths(generator));
    predictor.OnLength(kSlot, length);
    model.Add(length);
  }
  for (size_t i = 0; i < kUnitLadder; ++i) {
    EXPECT_EQ(predictor.WindowOf(kSlot).latest_start_ns[i],
              FindLatestStart(model.sorted(), predictor.unit_ns()[i], 0.3));
  }
}

TEST(BubblePredictorTest, DropsTheOldLengthsWhenEightInARowAreOutsideTheBand) {
  BubblePredictor predictor({});
  Learn(predictor, 10 * kMs, 64);
  Learn(predictor, 4 * kMs, 7);
  EXPECT_EQ(predictor.Summarise(kSlot).p90_ns, 10 * kMs);
  Learn(predictor, 4 * kMs, 1);
  EXPECT_EQ(predictor.Summarise(kSlot).p90_ns, 4 * kMs);
  EXPECT_EQ(StartOfMillisecond(predictor), 3'200'000);
}

TEST(BubblePredictorTest, OneLengthInsideTheBandEndsTheRun) {
  BubblePredictor predictor({});
  Learn(predictor, 10 * kMs, 64);
  Learn(predictor, 4 * kMs, 7);
  Learn(predictor, 10 * kMs, 1);
  Learn(predictor, 4 * kMs, 7);
  EXPECT_EQ(predictor.Summarise(kSlot).p90_ns, 10 * kMs);
}

TEST(BubblePredictorTest, LengthsOfTheSameSpreadAreNoChange) {
  BubblePredictor predictor({});
  std::mt19937_64 generator(11);
  std::lognormal_distribution<double> lengths(16.0, 0.8);
  for (int i = 0; i < 5'000; ++i) {
    predictor.OnLength(kSlot, static_cast<int64_t>(lengths(generator)));
    // A change would leave 8 lengths, and with them hardly ever such a spread.
    const BubbleSummary summary = predictor.Summarise(kSlot);
    if (i < 70) continue;
    ASSERT_GT(summary.p90_ns, 3 * summary.p10_ns) << "after " << i;
  }
}

TEST(BubblePredictorTest, RareFarTooLongLengthsDoNotMakeItBolder) {
  BubblePredictor predictor({});
  Learn(predictor, 10 * kMs, 8);
  const int64_t before = StartOfMillisecond(predictor);
  Learn(predictor, 900 * kMs, 3);
  EXPECT_EQ(StartOfMillisecond(predictor), before);
}

TEST(BubblePredictorTest, FarTooLongLengthsInARowAreTheNewNormal) {
  BubblePredictor predictor({});
  Learn(predictor, 10 * kMs, 64);
  Learn(predictor, 900 * kMs, 8);
  EXPECT_EQ(StartOfMillisecond(predictor), 899'200'000);
}

TEST(BubblePredictorTest, MemoryIsALowQuantileOfTheHints) {
  BubblePredictor predictor({});
  EXPECT_EQ(predictor.WindowOf(kSlot).memory_free_bytes, 0);
  for (int64_t bytes = 1; bytes <= 20; ++bytes) predictor.OnMemoryHint(kSlot, bytes << 20);
  EXPECT_EQ(predictor.WindowOf(kSlot).memory_free_bytes, 2 << 20);
}

TEST(BubblePredictorTest, IgnoresWhatNoPageMaySay) {
  BubblePredictor predictor({});
  predictor.OnLength(kBubbleSlots, kMs);
  predictor.OnLength(kSlot, -1);
  predictor.OnMemoryHint(kNoSlot, 1);
  predictor.OnMemoryHint(kSlot, -1);
  EXPECT_EQ(predictor.Summarise(kSlot).count, 0);
  EXPECT_EQ(predictor.WindowOf(kSlot), BubbleWindow());
}

TEST(BubblePredictorTest, AbsurdLengthsStayWithinBounds) {
  BubblePredictor predictor({});
  Learn(predictor, std::numeric_limits<int64_t>::max(), 64);
  EXPECT_LE(StartOfMillisecond(predictor), kBubbleLengthMaxNs);
  Learn(predictor, 0, 64);
  EXPECT_FALSE(predictor.WindowOf(kSlot).is_offered);
}

}  // namespace
}  // namespace pipefill
