#include "simulator/pipeline/order.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>
#include <string>

#include "simulator/pipeline/evaluation.h"
#include "simulator/pipeline/testing/any_pipeline.h"

namespace pipefill::simulator {
namespace {

std::string TextOf(const StageOrder& order) {
  static constexpr char kLetters[] = "FBIWRO";
  std::string text;
  for (const Operation& operation : order) {
    if (!text.empty()) text += ' ';
    text += kLetters[static_cast<int>(operation.kind)];
    text += std::to_string(operation.microbatch);
    if (operation.chunk > 0) text += std::string(static_cast<size_t>(operation.chunk), '\'');
  }
  return text;
}

TEST(OrderTest, GpipeRunsAllForwardsFirst) {
  EXPECT_EQ(TextOf(OrderOf({Schedule::kGpipe, 2, 3, 1}, 1)), "F0 F1 F2 B0 B1 B2");
}

TEST(OrderTest, OneForwardOneBackwardTakesTurnsAfterTheWarmUp) {
  const PipelineShape shape = {Schedule::kOneForwardOneBackward, 3, 4, 1};
  EXPECT_EQ(TextOf(OrderOf(shape, 0)), "F0 F1 F2 B0 F3 B1 B2 B3");
  EXPECT_EQ(TextOf(OrderOf(shape, 2)), "F0 B0 F1 B1 F2 B2 F3 B3");
}

TEST(OrderTest, InterleavedSendsRoundsOfMicrobatchesThroughAllChunks) {
  const PipelineShape shape = {Schedule::kInterleaved, 2, 4, 2};
  EXPECT_EQ(TextOf(OrderOf(shape, 0)), "F0 F1 F0' F1' F2 B0' F3 B1' F2' B0 F3' B1 B2' B3' B2 B3");
  EXPECT_EQ(TextOf(OrderOf(shape, 1)), "F0 F1 F0' B0' F1' B1' F2 B0 F3 B1 F2' B2' F3' B3' B2 B3");
}

TEST(OrderTest, ZeroBubbleH1IsOneWeightGradientBehindPerStage) {
  const PipelineShape shape = {Schedule::kZeroBubbleH1, 3, 4, 1};
  EXPECT_EQ(TextOf(OrderOf(shape, 0)), "F0 F1 F2 I0 W0 F3 I1 W1 I2 W2 I3 W3");
  EXPECT_EQ(TextOf(OrderOf(shape, 2)), "F0 I0 F1 I1 F2 I2 W0 F3 I3 W1 W2 W3");
}

TEST(OrderTest, ZeroBubbleVGoesDownOneChunkAndUpTheOther) {
  const PipelineShape shape = {Schedule::kZeroBubbleV, 2, 3, 2};
  EXPECT_EQ(TextOf(OrderOf(shape, 0)),
            "F0 F1 F2 F0' I0' W0' F1' I1' W1' I0 W0 F2' I2' W2' I1 W1 I2 W2");
  EXPECT_EQ(TextOf(OrderOf(shape, 1)),
            "F0 F0' F1 F1' I0' W0' F2 I0 W0 F2' I1' W1' I1 I2' I2 W1 W2' W2");
}

RC_GTEST_PROP(OrderProperty, EveryOperationIsThereOnceAndBehindWhatItNeeds, ()) {
  const PipelineShape shape = AnyShape();
  for (int stage = 0; stage < shape.stages; ++stage) {
    std::set<Operation> seen;
    for (const Operation& operation : OrderOf(shape, stage)) {
      RC_ASSERT(seen.insert(operation).second);
      const auto came = [&](OperationKind kind) {
        return seen.contains({kind, operation.microbatch, operation.chunk});
      };
      if (operation.kind != OperationKind::kForward) RC_ASSERT(came(OperationKind::kForward));
      if (operation.kind == OperationKind::kBackwardWeight) {
        RC_ASSERT(came(OperationKind::kBackwardInput));
      }
    }
    const int kinds = SplitsBackward(shape.schedule) ? 3 : 2;
    RC_ASSERT(static_cast<int>(seen.size()) == kinds * shape.microbatches * shape.chunks);
  }
}

// Where the times come from does not matter to whether an order is possible.
RC_GTEST_PROP(OrderProperty, NoScheduleWaitsForItself, ()) {
  const PipelineShape shape = AnyShape();
  const PipelineTimes times = AnyTimes(shape);
  RC_ASSERT(Evaluate(shape, times, OrdersOf(shape, times), 2).ok());
}

TEST(OrderTest, AnOrderThatWaitsForItselfIsToldAndEnds) {
  const PipelineShape shape = {Schedule::kOneForwardOneBackward, 2, 2, 1};
  PipelineTimes times;
  times.stages.assign(2, {.chunks = {{1, 1, 1}}});
  std::vector<StageOrder> orders = OrdersOf(shape, times);
  // Stage 0 wants a gradient before it has sent the microbatch that stage 1 begins with.
  orders[0] = {{OperationKind::kForward, 0},
               {OperationKind::kBackward, 0},
               {OperationKind::kForward, 1},
               {OperationKind::kBackward, 1}};
  orders[1] = {{OperationKind::kForward, 1},
               {OperationKind::kBackward, 1},
               {OperationKind::kForward, 0},
               {OperationKind::kBackward, 0}};
  const auto runs = Evaluate(shape, times, orders, 1);
  ASSERT_FALSE(runs.ok());
  EXPECT_NE(runs.status().message().find("7 operations never begin"), std::string::npos)
      << runs.status();
}

}  // namespace
}  // namespace pipefill::simulator
