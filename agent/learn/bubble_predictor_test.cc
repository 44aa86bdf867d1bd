#include "agent/learn/bubble_predictor.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <vector>

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

TEST(BubblePredictorTest, DoesNotOfferShortBubbles) {
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
  EXPECT_EQ(predictor.WindowOf(kSlot).verdict, OfferVerdict::kTooShort);
}

TEST(BubblePredictorTest, WindowIsTheStartTableOfTheKeptLengths) {
  BubblePredictor predictor({.overrun_ratio = 0.3});
  std::mt19937_64 generator(7);
  std::normal_distribution<double> lengths(12e6, 1e6);
  RecentValues model(64);
  predictor.OnLength(kSlot, 1);
  for (int i = 0; i < 64; ++i) {
    const auto length = static_cast<int64_t>(lengths(generator));
    predictor.OnLength(kSlot, length);
    model.Add(length);
  }
  EXPECT_EQ(predictor.WindowOf(kSlot).latest_start_ns,
            MakeStartTable(model.sorted(), predictor.unit_ns(), 0.3));
}

TEST(BubblePredictorTest, DropsTheOldLengthsOnceTheyAreOfAnotherKind) {
  BubblePredictor predictor({});
  Learn(predictor, 10 * kMs, 64);
  Learn(predictor, 4 * kMs, 4);
  EXPECT_EQ(predictor.Summarise(kSlot).p90_ns, 10 * kMs);
  Learn(predictor, 4 * kMs, 1);
  EXPECT_EQ(predictor.Summarise(kSlot).p90_ns, 4 * kMs);
  EXPECT_EQ(StartOfMillisecond(predictor), 3'200'000);
}

TEST(BubblePredictorTest, KeepsAChangedBubbleOnOffer) {
  BubblePredictor predictor({});
  Learn(predictor, 10 * kMs, 64);
  for (int i = 0; i < 20; ++i) {
    Learn(predictor, 13 * kMs, 1);
    ASSERT_TRUE(predictor.WindowOf(kSlot).is_offered) << i;
  }
  EXPECT_EQ(StartOfMillisecond(predictor), 12'200'000);
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

TEST(BubblePredictorTest, MemoryIsALowQuantileOfTheHintsLessAHeadRoom) {
  BubblePredictor predictor({});
  EXPECT_EQ(predictor.WindowOf(kSlot).memory_free_bytes, 0);
  for (int64_t i = 1; i <= 20; ++i) predictor.OnMemoryHint(kSlot, i * 100'000);
  EXPECT_EQ(predictor.WindowOf(kSlot).memory_free_bytes, 190'000);
}

TEST(BubblePredictorTest, SaysWhyABubbleIsNotOffered) {
  BubblePredictor predictor({.bubble_min = absl::Microseconds(50)});
  EXPECT_EQ(predictor.WindowOf(kSlot).verdict, OfferVerdict::kTooFew);
  Learn(predictor, kMs, 64);
  EXPECT_EQ(predictor.WindowOf(kSlot).verdict, OfferVerdict::kYes);
  // Below the shortest unit of the ladder.
  Learn(predictor, 60'000, 64);
  EXPECT_EQ(predictor.WindowOf(kSlot).verdict, OfferVerdict::kUncertain);
  EXPECT_FALSE(predictor.WindowOf(kSlot).is_offered);
  Learn(predictor, 40'000, 64);
  EXPECT_EQ(predictor.WindowOf(kSlot).verdict, OfferVerdict::kTooShort);
}

TEST(BubblePredictorTest, OverrunRatioMovesEveryWindow) {
  BubblePredictor predictor({});
  Learn(predictor, 10 * kMs, 64);
  predictor.TakeChanged();
  predictor.SetOverrunRatio(0.4);
  EXPECT_EQ(predictor.TakeChanged(), std::vector<uint32_t>{kSlot});
  EXPECT_EQ(StartOfMillisecond(predictor), 9'400'000);
}

// Over at once as often as not, else long.
void LearnTwoKinds(BubblePredictor& predictor) {
  for (int i = 0; i < 32; ++i) {
    predictor.OnLength(kSlot, 100'000 + i * 100);
    predictor.OnLength(kSlot, 4 * kMs);
  }
}

TEST(BubblePredictorTest, StartsLaterWhereABubbleIsEitherOverAtOnceOrLong) {
  BubblePredictor predictor({});
  LearnTwoKinds(predictor);
  const BubbleWindow& window = predictor.WindowOf(kSlot);
  EXPECT_TRUE(window.is_offered);
  // An eighth, or 20 us, behind the longest of the short kind.
  EXPECT_EQ(window.earliest_start_ns, 103'100 + 20'000);
  EXPECT_EQ(StartOfMillisecond(predictor), 3'200'000);
}

TEST(BubblePredictorTest, OffersTheLongKindAlsoWhereTheMedianIsShort) {
  BubblePredictor predictor({});
  LearnTwoKinds(predictor);
  Learn(predictor, 110'000, 10);
  EXPECT_TRUE(predictor.WindowOf(kSlot).is_offered);
  Learn(predictor, 90'000, 58);
  EXPECT_EQ(predictor.WindowOf(kSlot).verdict, OfferVerdict::kTooShort);
}

TEST(BubblePredictorTest, StartsAtOnceWhereWaitingBringsNothing) {
  BubblePredictor predictor({});
  // Units of a millisecond and less may start at once in both kinds.
  for (int i = 0; i < 32; ++i) {
    predictor.OnLength(kSlot, 9 * kMs);
    predictor.OnLength(kSlot, 20 * kMs);
  }
  EXPECT_TRUE(predictor.WindowOf(kSlot).is_offered);
  EXPECT_EQ(predictor.WindowOf(kSlot).earliest_start_ns, 0);
}

TEST(BubblePredictorTest, GuardIsTakenOffEveryLatestStartOfItsSlot) {
  BubblePredictor predictor({});
  Learn(predictor, 10 * kMs, 64);
  predictor.SetGuard(kSlot, 3 * kMs);
  EXPECT_EQ(StartOfMillisecond(predictor), 6'200'000);
  EXPECT_EQ(predictor.guard_ns(kSlot), 3 * kMs);
  // A unit of 10 ms could start within the first 2 ms; now it cannot.
  EXPECT_EQ(predictor.WindowOf(kSlot).latest_start_ns[11], kNever);
  predictor.SetGuard(kSlot, 20 * kMs);
  EXPECT_EQ(predictor.WindowOf(kSlot).verdict, OfferVerdict::kUncertain);
  predictor.SetGuard(kSlot, 0);
  EXPECT_EQ(StartOfMillisecond(predictor), 9'200'000);
}

TEST(BubblePredictorTest, StaticRuleEndsUnitsWithinItsShareOfTheMedian) {
  BubblePredictor predictor({});
  for (int i = 0; i <= 64; ++i) predictor.OnLength(kSlot, (i % 2 == 0 ? 10 : 30) * kMs);
  predictor.SetGuard(kSlot, kMs);
  predictor.SetStaticShare(0.68);
  EXPECT_EQ(StartOfMillisecond(predictor), 6'800'000 - kMs);
  predictor.SetStaticShare(0.0);
  predictor.SetGuard(kSlot, 0);
  EXPECT_EQ(StartOfMillisecond(predictor), 9'400'000);
}

TEST(BubblePredictorTest, TellsOnceWhichSlotsChanged) {
  BubblePredictor predictor({});
  for (int i = 0; i < 2; ++i) predictor.OnLength(9, kMs);
  predictor.OnMemoryHint(2, 1);
  EXPECT_EQ(predictor.TakeChanged(), (std::vector<uint32_t>{2, 9}));
  EXPECT_EQ(predictor.TakeChanged(), std::vector<uint32_t>{});
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

// A rank with two bubbles in each iteration.
class IterationsTest : public ::testing::Test {
 protected:
  static constexpr uint32_t kOther = kSlot + 1;

  void Iterate(int times, int64_t length_ms = 10, int64_t rest_ms = 80) {
    for (int i = 0; i < times; ++i) {
      predictor_.OnIterationBegin(now_ns_);
      EndBubble(kSlot, length_ms);
      EndBubble(kOther, 10);
      now_ns_ += rest_ms * kMs;
      predictor_.OnIterationEnd(now_ns_);
    }
  }
  void EndBubble(uint32_t slot, int64_t length_ms) {
    now_ns_ += length_ms * kMs;
    predictor_.OnLength(slot, length_ms * kMs);
  }
  int64_t p90_ms() const { return predictor_.Summarise(kSlot).p90_ns / kMs; }
  bool is_offered() const { return predictor_.WindowOf(kSlot).is_offered; }

  BubblePredictor predictor_{PredictorOptions()};
  int64_t now_ns_ = 0;
};

TEST_F(IterationsTest, OffersAfterTheFirstAndEightUsualIterations) {
  Iterate(1, 900);
  Iterate(7);
  EXPECT_FALSE(is_offered());
  Iterate(1);
  EXPECT_TRUE(is_offered());
  EXPECT_EQ(p90_ms(), 10);
}

TEST_F(IterationsTest, LearnsNothingFromTheBubblesOfACheckpointIteration) {
  Iterate(40);
  for (int i = 0; i < 10; ++i) {
    Iterate(1, 14, 900);
    Iterate(3);
  }
  EXPECT_EQ(p90_ms(), 10);
}

TEST_F(IterationsTest, LearnsNothingFromAnEvaluation) {
  Iterate(40);
  for (int i = 0; i < 20; ++i) {
    predictor_.OnIterationBegin(now_ns_);
    EndBubble(kSlot, 3);
    now_ns_ += 80 * kMs;
    predictor_.OnIterationEnd(now_ns_);
    Iterate(20);
  }
  EXPECT_EQ(predictor_.Summarise(kSlot).p10_ns, 10 * kMs);
}

TEST_F(IterationsTest, LearnsAllOfALastingSlowDownFromItsFourthIterationOn) {
  Iterate(70);
  Iterate(3, 40, 300);
  EXPECT_EQ(p90_ms(), 10);
  Iterate(1, 40, 300);
  EXPECT_EQ(p90_ms(), 10);
  Iterate(1, 40, 300);
  EXPECT_EQ(p90_ms(), 40);
  EXPECT_EQ(predictor_.Summarise(kSlot).p10_ns, 40 * kMs);
}

TEST_F(IterationsTest, FollowsAStepByThreeTenthsWithinEightIterations) {
  for (const int64_t length_ms : {13, 7, 10}) {
    Iterate(64);
    Iterate(8, length_ms);
    EXPECT_EQ(predictor_.Summarise(kSlot).p10_ns, length_ms * kMs);
    EXPECT_EQ(p90_ms(), length_ms);
  }
}

TEST_F(IterationsTest, WithholdsTheRestOfAnIterationThatTakesAnotherCourse) {
  Iterate(40);
  predictor_.OnIterationBegin(now_ns_);
  predictor_.OnTime(now_ns_);
  EXPECT_TRUE(is_offered());
  EndBubble(kOther, 10);
  predictor_.OnTime(now_ns_);
  EXPECT_FALSE(is_offered());
  EXPECT_EQ(predictor_.TakeChanged(), (std::vector<uint32_t>{kSlot, kOther}));
  now_ns_ += 80 * kMs;
  predictor_.OnIterationEnd(now_ns_);
  EXPECT_TRUE(is_offered());
}

TEST_F(IterationsTest, WithholdsTheRestOfAnIterationThatIsFarTooLong) {
  Iterate(40);
  predictor_.OnIterationBegin(now_ns_);
  predictor_.OnTime(now_ns_ + 140 * kMs);
  EXPECT_TRUE(is_offered());
  predictor_.OnTime(now_ns_ + 160 * kMs);
  EXPECT_FALSE(is_offered());
  predictor_.OnIterationBegin(now_ns_ + 500 * kMs);
  EXPECT_TRUE(is_offered());
}

TEST_F(IterationsTest, WithholdsNothingInShortIterations) {
  Iterate(40, 10, 20);
  predictor_.OnIterationBegin(now_ns_);
  EndBubble(kOther, 10);
  predictor_.OnTime(now_ns_ + 900 * kMs);
  EXPECT_TRUE(is_offered());
}

TEST_F(IterationsTest, AnIgnoredIterationTeachesNothing) {
  Iterate(40);
  predictor_.OnIterationBegin(now_ns_);
  EndBubble(kSlot, 900);
  predictor_.IgnoreIteration();
  EndBubble(kOther, 900);
  predictor_.OnIterationEnd(now_ns_);
  Iterate(1);
  EXPECT_EQ(predictor_.Summarise(kSlot).p90_ns, 10 * kMs);
  EXPECT_EQ(predictor_.Summarise(kOther).p90_ns, 10 * kMs);
}

TEST_F(IterationsTest, LearnsFromARankThatNeverEndsItsIteration) {
  predictor_.OnIterationBegin(now_ns_);
  for (int i = 0; i < 5'000; ++i) EndBubble(kSlot, 10);
  EXPECT_TRUE(is_offered());
}

}  // namespace
}  // namespace pipefill
