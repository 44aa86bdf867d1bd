#include "simulator/pipeline/memory.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "simulator/pipeline/testing/any_pipeline.h"

namespace pipefill::simulator {
namespace {

constexpr ActivationBytes kOne = {.activation = 1, .kept_for_weight = 1};

int64_t Peak(const PipelineShape& shape, int stage) {
  return PeakBytes(OrderOf(shape, stage), kOne);
}

TEST(MemoryTest, GpipeHoldsAllMicrobatches) {
  for (int stage = 0; stage < 4; ++stage) {
    EXPECT_EQ(Peak({Schedule::kGpipe, 4, 9, 1}, stage), 9);
  }
}

TEST(MemoryTest, OneForwardOneBackwardHoldsOneMicrobatchPerStageFromHereOn) {
  for (const int microbatches : {1, 3, 4, 9}) {
    for (int stage = 0; stage < 4; ++stage) {
      EXPECT_EQ(Peak({Schedule::kOneForwardOneBackward, 4, microbatches, 1}, stage),
                std::min(microbatches, 4 - stage));
    }
  }
}

// Narayanan et al. 2021: 1 + (p - 1) / (p v) times that of 1F1B on the first stage, in chunks.
TEST(MemoryTest, InterleavedHoldsItsWarmUpAndOneMore) {
  for (const int chunks : {1, 2, 4}) {
    for (int stage = 0; stage < 4; ++stage) {
      EXPECT_EQ(Peak({Schedule::kInterleaved, 4, 16, chunks}, stage),
                2 * (3 - stage) + (chunks - 1) * 4 + 1);
    }
  }
}

TEST(MemoryTest, ZeroBubbleSchedulesHoldAsMuchOnEveryStageAsTheFirstOf1F1B) {
  for (int stage = 0; stage < 4; ++stage) {
    EXPECT_EQ(Peak({Schedule::kZeroBubbleH1, 4, 12, 1}, stage), 4);
    EXPECT_EQ(Peak({Schedule::kZeroBubbleV, 4, 12, 2}, stage), 2 * 4);  // chunks of half a stage
  }
}

TEST(MemoryTest, WhatIsNotKeptForTheWeightGradientIsFreeAfterTheInputGradient) {
  const StageOrder order = {
      {OperationKind::kForward, 0},       {OperationKind::kForward, 1},
      {OperationKind::kBackwardInput, 0}, {OperationKind::kBackwardWeight, 0},
      {OperationKind::kBackwardInput, 1}, {OperationKind::kBackwardWeight, 1}};
  EXPECT_EQ(HeldBytes(order, {.activation = 10, .kept_for_weight = 4}),
            (std::vector<int64_t>{0, 10, 20, 14, 10, 4, 0}));
}

RC_GTEST_PROP(MemoryProperty, NothingIsHeldBetweenIterationsAndNeverLessThanNothing, ()) {
  const PipelineShape shape = AnyShape();
  const int64_t kept = *rc::gen::inRange(0, 6);
  for (int stage = 0; stage < shape.stages; ++stage) {
    const std::vector<int64_t> held =
        HeldBytes(OrderOf(shape, stage), {.activation = 5, .kept_for_weight = kept});
    RC_ASSERT(held.front() == 0);
    RC_ASSERT(held.back() == 0);
    RC_ASSERT(*std::min_element(held.begin(), held.end()) >= 0);
    RC_ASSERT(*std::max_element(held.begin(), held.end()) <=
              5 * int64_t{shape.microbatches} * shape.chunks);
  }
}

}  // namespace
}  // namespace pipefill::simulator
