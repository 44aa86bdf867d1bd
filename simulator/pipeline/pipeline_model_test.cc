#include "simulator/pipeline/pipeline_model.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

#include "simulator/pipeline/testing/any_pipeline.h"

namespace pipefill::simulator {
namespace {

PipelineModel Model(Schedule schedule, int stages, int microbatches) {
  PipelineModel model;
  model.shape = {schedule, stages, microbatches, 1};
  model.times.stages.assign(static_cast<size_t>(stages), {.chunks = {{100, 100, 100}}});
  return model;
}

const StageBubble* Find(const StageRun& stage, BubbleClass bubble_class) {
  for (const StageBubble& bubble : stage.bubbles) {
    if (bubble.bubble_class == bubble_class) return &bubble;
  }
  return nullptr;
}

TEST(PipelineModelTest, BubblesAreNumberedByTheOperationsBeforeThem) {
  const PipelineRun run = RunPipeline(Model(Schedule::kOneForwardOneBackward, 2, 4)).value();

  // F0 F1 .. B0 F2 .. B1 F3 .. : middle after two, the scattered one before the last backward.
  ASSERT_EQ(run.stages[0].bubbles.size(), 2u);
  EXPECT_EQ(run.stages[0].bubbles[0].bubble_class, BubbleClass::kMiddle);
  EXPECT_EQ(run.stages[0].bubbles[0].ordinal, 2u);
  EXPECT_EQ(run.stages[0].bubbles[0].offset_ns, 200);
  EXPECT_EQ(run.stages[0].bubbles[1].bubble_class, BubbleClass::kScattered);
  EXPECT_EQ(run.stages[0].bubbles[1].ordinal, 7u);
  // F0 B0 F1 B1 ...: head and tail.
  ASSERT_EQ(run.stages[1].bubbles.size(), 2u);
  EXPECT_EQ(run.stages[1].bubbles[0].bubble_class, BubbleClass::kHead);
  EXPECT_EQ(run.stages[1].bubbles[0].ordinal, 0u);
  EXPECT_EQ(run.stages[1].bubbles[1].bubble_class, BubbleClass::kTail);
  EXPECT_EQ(run.stages[1].bubbles[1].ordinal, 8u);
}

TEST(PipelineModelTest, BehindAnOptimizerTailAndNextHeadAreOneBubble) {
  PipelineModel model = Model(Schedule::kOneForwardOneBackward, 2, 4);
  model.times.has_optimizer = true;
  for (StageTimes& stage : model.times.stages) stage.optimizer_ns = 50;
  const PipelineRun run = RunPipeline(model).value();

  EXPECT_EQ(run.iteration_ns, 5 * 300 + 50);
  EXPECT_EQ(Find(run.stages[1], BubbleClass::kHead), nullptr);
  const StageBubble* tail = Find(run.stages[1], BubbleClass::kTail);
  ASSERT_NE(tail, nullptr);
  EXPECT_EQ(tail->ordinal, 10u);  // 8 chunks, what comes before the optimizer, the optimizer
  EXPECT_EQ(tail->mean_ns, 300);  // 200 after the last backward, 100 before the first forward
}

TEST(PipelineModelTest, AStepThatWaitsForAllStagesBeginsWithTheLast) {
  PipelineModel model = Model(Schedule::kOneForwardOneBackward, 2, 4);
  model.times.has_optimizer = true;
  model.times.waits_for_all = true;
  for (StageTimes& stage : model.times.stages) stage.optimizer_ns = 50;
  const PipelineRun run = RunPipeline(model).value();

  EXPECT_EQ(run.stages[1].operations.back().begin_ns, run.stages[0].operations.back().begin_ns);
}

TEST(PipelineModelTest, TransfersDelayBothWaysAndAreIdleTime) {
  PipelineModel model = Model(Schedule::kOneForwardOneBackward, 2, 1);
  model.times.transfer_ns = 30;
  EXPECT_EQ(RunPipeline(model).value().iteration_ns, 600 + 2 * 30);
}

TEST(PipelineModelTest, AStragglerSlowsDownAllAndTheOthersWait) {
  PipelineModel model = Model(Schedule::kOneForwardOneBackward, 4, 16);
  const PipelineRun even = RunPipeline(model).value();
  model.times.stages[2].slowness = 1.5;
  const PipelineRun uneven = RunPipeline(model).value();

  EXPECT_GT(uneven.iteration_ns, even.iteration_ns);
  EXPECT_GE(uneven.iteration_ns, 16 * 450);  // its own work alone
  EXPECT_LT(uneven.stages[2].bubble_share, uneven.stages[1].bubble_share);
}

TEST(PipelineModelTest, TheSameSeedGivesTheSameLengthsAndAnotherOneOthers) {
  PipelineModel model = Model(Schedule::kOneForwardOneBackward, 4, 8);
  model.times.jitter = {.share = 0.1, .seed = 7};
  const PipelineRun first = RunPipeline(model).value();
  EXPECT_EQ(RunPipeline(model).value().iteration_ns, first.iteration_ns);
  EXPECT_LT(first.stages[0].bubbles[0].p10_ns, first.stages[0].bubbles[0].p90_ns);
  EXPECT_EQ(first.iterations, 64);
  model.times.jitter.seed = 8;
  EXPECT_NE(RunPipeline(model).value().iteration_ns, first.iteration_ns);
}

TEST(PipelineModelTest, FreeMemoryIsWhatActivationsInFlightLeave) {
  PipelineModel model = Model(Schedule::kOneForwardOneBackward, 2, 4);
  const StageMemory memory = {
      .device_bytes = 1000, .static_bytes = 300, .per_chunk = {.activation = 50}};
  model.memory.emplace(2, memory);
  const PipelineRun run = RunPipeline(model).value();

  EXPECT_EQ(run.stages[0].bubbles[0].memory_free_bytes, 1000 - 300 - 2 * 50);  // middle
  EXPECT_EQ(run.stages[0].bubbles[1].memory_free_bytes, 1000 - 300 - 50);
  EXPECT_EQ(run.stages[1].bubbles[0].memory_free_bytes, 1000 - 300);  // head
  EXPECT_EQ(run.stages[0].memory_peak_bytes, 400);
}

TEST(PipelineModelTest, AStageThatDoesNotFitItsDeviceIsToldWithNumbers) {
  PipelineModel model = Model(Schedule::kGpipe, 2, 4);
  const StageMemory memory = {
      .device_bytes = 499, .static_bytes = 300, .per_chunk = {.activation = 50}};
  model.memory.emplace(2, memory);
  const auto run = RunPipeline(model);
  EXPECT_EQ(run.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_NE(run.status().message().find("need=500 have=499"), std::string::npos) << run.status();
}

TEST(PipelineModelTest, TimesThatMakeNoSenseAreRefused) {
  PipelineModel model = Model(Schedule::kGpipe, 2, 4);
  model.times.stages[1].chunks[0].forward_ns = -1;
  EXPECT_EQ(RunPipeline(model).status().code(), absl::StatusCode::kInvalidArgument);
  model = Model(Schedule::kGpipe, 2, 4);
  model.times.stages.pop_back();
  EXPECT_EQ(RunPipeline(model).status().code(), absl::StatusCode::kInvalidArgument);
}

// When the operation ended that `microbatch` of `kind` waits for, on another stage or its own.
class Ends {
 public:
  Ends(const PipelineShape& shape, const IterationRun& run) : shape_(shape), run_(run) {}

  int64_t Of(bool is_forward, int part, int microbatch) const {
    const ChunkPlace place = PlaceOf(shape_, part);
    for (const TimedOperation& timed : run_.stages[static_cast<size_t>(place.stage)]) {
      const OperationKind kind = timed.operation.kind;
      const bool fits =
          is_forward ? kind == OperationKind::kForward
                     : kind == OperationKind::kBackward || kind == OperationKind::kBackwardInput;
      if (fits && timed.operation.chunk == place.chunk && timed.operation.microbatch == microbatch)
        return timed.end_ns;
    }
    return INT64_MAX;
  }

 private:
  const PipelineShape& shape_;
  const IterationRun& run_;
};

RC_GTEST_PROP(PipelineModelProperty, NothingOverlapsAndNothingBeginsBeforeWhatItWaitsFor, ()) {
  const PipelineShape shape = AnyShape();
  const PipelineTimes times = AnyTimes(shape);
  const auto runs = Evaluate(shape, times, OrdersOf(shape, times), 2).value();
  const Ends ends(shape, runs[1]);
  const int last = shape.stages * shape.chunks - 1;
  for (size_t s = 0; s < runs[1].stages.size(); ++s) {
    int64_t free_ns = runs[0].stages[s].back().end_ns;
    for (const TimedOperation& timed : runs[1].stages[s]) {
      RC_ASSERT(timed.begin_ns >= free_ns);
      RC_ASSERT(timed.end_ns >= timed.begin_ns);
      free_ns = timed.end_ns;
      const Operation& operation = timed.operation;
      const int part = VirtualStage(shape, static_cast<int>(s), operation.chunk);
      const int i = operation.microbatch;
      if (operation.kind == OperationKind::kForward && part > 0) {
        RC_ASSERT(timed.begin_ns >= ends.Of(true, part - 1, i));
      }
      const bool is_gradient = operation.kind == OperationKind::kBackward ||
                               operation.kind == OperationKind::kBackwardInput;
      if (is_gradient) RC_ASSERT(timed.begin_ns >= ends.Of(true, part, i));
      if (is_gradient && part < last) RC_ASSERT(timed.begin_ns >= ends.Of(false, part + 1, i));
    }
  }
}

// A stage is either busy or in a bubble; with an optimizer the last iteration's rest is cut off.
RC_GTEST_PROP(PipelineModelProperty, WorkAndBubblesAddUpToTheIteration, ()) {
  const PipelineShape shape = AnyShape();
  PipelineTimes times = AnyTimes(shape);
  times.jitter.share = 0;
  const PipelineRun run = RunPipeline({shape, times, std::nullopt}).value();
  for (const StageRun& stage : run.stages) {
    int64_t total_ns = 0;
    for (const TimedOperation& timed : stage.operations) total_ns += timed.end_ns - timed.begin_ns;
    for (const StageBubble& bubble : stage.bubbles) total_ns += bubble.mean_ns;
    RC_ASSERT(total_ns == run.iteration_ns);
  }
}

RC_GTEST_PROP(PipelineModelProperty, FreeMemoryIsNeverBelowWhatTheFullestMomentLeaves, ()) {
  const PipelineShape shape = AnyShape();
  PipelineModel model{shape, AnyTimes(shape), std::nullopt};
  const StageMemory memory = {.device_bytes = 10'000,
                              .static_bytes = 100,
                              .per_chunk = {.activation = 7, .kept_for_weight = 3}};
  model.memory.emplace(static_cast<size_t>(shape.stages), memory);
  const PipelineRun run = RunPipeline(model).value();
  for (const StageRun& stage : run.stages) {
    for (const StageBubble& bubble : stage.bubbles) {
      RC_ASSERT(*bubble.memory_free_bytes >= memory.device_bytes - *stage.memory_peak_bytes);
      RC_ASSERT(*bubble.memory_free_bytes <= memory.device_bytes - memory.static_bytes);
    }
  }
}

}  // namespace
}  // namespace pipefill::simulator
