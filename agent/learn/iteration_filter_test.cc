#include "agent/learn/iteration_filter.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

namespace pipefill {
namespace {

constexpr int64_t kMs = 1'000'000;
using Slots = std::vector<uint32_t>;

const Slots kTraining = {0, 1, 2, 3};
const Slots kEvaluation = {0, 1};

class IterationFilterTest : public ::testing::Test {
 protected:
  IterationKind Run(const Slots& slots, int64_t length_ms = 100) {
    filter_.OnBegin(now_ns_);
    for (const uint32_t slot : slots) filter_.OnBubble(slot);
    now_ns_ += length_ms * kMs;
    return filter_.OnEnd(now_ns_);
  }
  void Train(int times) {
    for (int i = 0; i < times; ++i) Run(kTraining);
  }

  IterationFilter filter_;
  int64_t now_ns_ = 0;
};

TEST_F(IterationFilterTest, OnlyTheFirstIterationIsTheFirst) {
  EXPECT_EQ(Run(kTraining, 5'000), IterationKind::kFirst);
  EXPECT_EQ(Run(kTraining), IterationKind::kUsual);
}

TEST_F(IterationFilterTest, NamesThatBecomeFinalAfterTheFirstIterationAreNoNewPattern) {
  Run({0, 1, 2, 3});
  EXPECT_EQ(Run({0, 1, 2, 4}), IterationKind::kUsual);
  EXPECT_EQ(Run({0, 1, 2, 4}), IterationKind::kUsual);
}

TEST_F(IterationFilterTest, AnEvaluationNowAndThenIsUnusualEveryTime) {
  Train(20);
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(Run(kEvaluation, 60), IterationKind::kPattern);
    Train(40);
  }
}

TEST_F(IterationFilterTest, TrainingGoesOnAsUsualAfterAnEvaluation) {
  Train(20);
  Run(kEvaluation, 60);
  EXPECT_EQ(Run(kTraining), IterationKind::kUsual);
}

TEST_F(IterationFilterTest, AnotherNumberOfMicrobatchesIsUsualFromItsSecondIterationOn) {
  Train(20);
  EXPECT_EQ(Run({0, 1, 2, 3, 4, 5}, 120), IterationKind::kPattern);
  EXPECT_EQ(Run({0, 1, 2, 3, 4, 5}, 120), IterationKind::kUsual);
}

TEST_F(IterationFilterTest, PatternsThatTakeTurnsAreUsual) {
  Train(2);
  Run(kEvaluation);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(Run(kTraining), IterationKind::kUsual);
    EXPECT_EQ(Run(kEvaluation), IterationKind::kUsual);
  }
}

TEST_F(IterationFilterTest, ARunWithoutAnyPatternIsUsualInTheEnd) {
  Train(1);
  uint32_t next = 10;
  for (size_t i = 0; i <= IterationFilter::kPatternsKept; ++i) Run({0, next++});
  for (int i = 0; i < 40; ++i) EXPECT_EQ(Run({0, next++}), IterationKind::kUsual);
}

TEST_F(IterationFilterTest, ACheckpointIsFarTooLong) {
  Train(20);
  EXPECT_EQ(Run(kTraining, 1'000), IterationKind::kLength);
  EXPECT_EQ(Run(kTraining), IterationKind::kUsual);
}

TEST_F(IterationFilterTest, LengthsOfANewSizeAreUsualFromTheFourthInARowOn) {
  Train(20);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Run(kTraining, 300), IterationKind::kLength);
  EXPECT_EQ(Run(kTraining, 300), IterationKind::kNewLength);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(Run(kTraining, 300), IterationKind::kUsual);
}

TEST_F(IterationFilterTest, AStepByThreeTenthsIsNotFarOff) {
  Train(20);
  EXPECT_EQ(Run(kTraining, 130), IterationKind::kUsual);
  EXPECT_EQ(Run(kTraining, 70), IterationKind::kUsual);
}

TEST_F(IterationFilterTest, FewIterationsOfAWideSpreadAreFarOff) {
  std::mt19937_64 generator(1);
  std::lognormal_distribution<double> length(4.0, 0.5);
  int far = 0;
  for (int i = 0; i < 2'000; ++i) {
    const IterationKind kind = Run(kTraining, static_cast<int64_t>(length(generator)) + 1);
    if (kind != IterationKind::kUsual) ++far;
  }
  EXPECT_LE(far, 300);
}

TEST_F(IterationFilterTest, CanBeToldWhileItRunsOnceItsBubblesComeInAnUnknownOrder) {
  Train(20);
  filter_.OnBegin(now_ns_);
  EXPECT_FALSE(filter_.IsUnusual(now_ns_));
  filter_.OnBubble(0);
  EXPECT_FALSE(filter_.IsUnusual(now_ns_ + 10 * kMs));
  filter_.OnBubble(2);
  EXPECT_TRUE(filter_.IsUnusual(now_ns_ + 10 * kMs));
  filter_.OnEnd(now_ns_ + 60 * kMs);
  EXPECT_FALSE(filter_.IsUnusual(now_ns_ + 60 * kMs));
}

TEST_F(IterationFilterTest, CanBeToldWhileItRunsOnceItIsFarTooLong) {
  Train(20);
  filter_.OnBegin(now_ns_);
  EXPECT_FALSE(filter_.IsUnusual(now_ns_ + 140 * kMs));
  EXPECT_TRUE(filter_.IsUnusual(now_ns_ + 160 * kMs));
}

TEST_F(IterationFilterTest, AnIterationThatIsGivenUpLeavesNothingBehind) {
  Train(20);
  filter_.OnBegin(now_ns_);
  filter_.OnBubble(7);
  filter_.Abandon();
  EXPECT_FALSE(filter_.is_open());
  EXPECT_EQ(Run(kTraining), IterationKind::kUsual);
  EXPECT_EQ(Run({7}), IterationKind::kPattern);
}

}  // namespace
}  // namespace pipefill
