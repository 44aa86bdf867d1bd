// The model against what is known in closed form of even stages: m microbatches on p stages, f
// forward, b input gradient, w weight gradient, of a chunk.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <string>
#include <utility>

#include "simulator/pipeline/pipeline_model.h"
#include "simulator/pipeline/testing/any_pipeline.h"

namespace pipefill::simulator {
namespace {

PipelineTimes Even(const PipelineShape& shape, ChunkTimes chunk) {
  PipelineTimes times;
  const std::vector<ChunkTimes> chunks(static_cast<size_t>(shape.chunks), chunk);
  times.stages.assign(static_cast<size_t>(shape.stages), {.chunks = chunks});
  return times;
}

PipelineRun RunEven(const PipelineShape& shape, ChunkTimes chunk) {
  return RunPipeline({.shape = shape, .times = Even(shape, chunk), .memory = std::nullopt}).value();
}

// Idle time of each stage, all stages alike where they all wait at the end.
int64_t IdleNs(const PipelineRun& run, size_t stage) {
  int64_t idle_ns = 0;
  for (const StageBubble& bubble : run.stages[stage].bubbles) idle_ns += bubble.mean_ns;
  return idle_ns;
}

std::map<BubbleClass, std::vector<int64_t>> ByClass(const StageRun& stage) {
  std::map<BubbleClass, std::vector<int64_t>> lengths;
  for (const StageBubble& bubble : stage.bubbles)
    lengths[bubble.bubble_class].push_back(bubble.mean_ns);
  return lengths;
}

std::vector<int64_t> OneUnlessZero(int64_t ns) {
  return ns == 0 ? std::vector<int64_t>{} : std::vector<int64_t>{ns};
}

using Shape = std::pair<int, int>;  // stages, microbatches
constexpr Shape kShapes[] = {{2, 4}, {4, 4}, {4, 8}, {8, 8}, {8, 20}, {16, 64}};

TEST(ClosedFormTest, GpipeWaitsAtBothEndsAndBeforeTheFirstBackward) {
  const int64_t f = 100;
  const int64_t b = 230;  // both gradients
  for (const auto& [p, m] : kShapes) {
    const PipelineRun run = RunEven({Schedule::kGpipe, p, m, 1}, {f, 130, 100});
    for (int s = 0; s < p; ++s) {
      auto lengths = ByClass(run.stages[static_cast<size_t>(s)]);
      EXPECT_EQ(lengths[BubbleClass::kHead], OneUnlessZero(s * f));
      EXPECT_EQ(lengths[BubbleClass::kMiddle], OneUnlessZero((p - 1 - s) * (f + b)));
      EXPECT_EQ(lengths[BubbleClass::kTail], OneUnlessZero(s * b));
      EXPECT_TRUE(lengths[BubbleClass::kScattered].empty());
    }
  }
}

TEST(ClosedFormTest, OneForwardOneBackwardHasItsBubblesOfEarlyStagesScattered) {
  const int64_t f = 100;
  const int64_t b = 230;
  for (const auto& [p, m] : kShapes) {
    const PipelineRun run = RunEven({Schedule::kOneForwardOneBackward, p, m, 1}, {f, 130, 100});
    for (int s = 0; s < p; ++s) {
      auto lengths = ByClass(run.stages[static_cast<size_t>(s)]);
      EXPECT_EQ(lengths[BubbleClass::kHead], OneUnlessZero(s * f));
      EXPECT_EQ(lengths[BubbleClass::kMiddle], OneUnlessZero((p - 1 - s) * b));
      EXPECT_EQ(lengths[BubbleClass::kTail], OneUnlessZero(s * b));
      EXPECT_EQ(lengths[BubbleClass::kScattered],
                std::vector<int64_t>(static_cast<size_t>(p - 1 - s), f));
    }
  }
}

TEST(ClosedFormTest, GpipeAnd1F1BAreIdleForTheSameShare) {
  for (const Schedule schedule : {Schedule::kGpipe, Schedule::kOneForwardOneBackward}) {
    for (const auto& [p, m] : kShapes) {
      const PipelineRun run = RunEven({schedule, p, m, 1}, {100, 130, 100});
      EXPECT_DOUBLE_EQ(run.bubble_share, (p - 1.0) / (m + p - 1)) << p << "x" << m;
      EXPECT_EQ(run.iteration_ns, (m + p - 1) * 330);
    }
  }
}

TEST(ClosedFormTest, InterleavingDividesTheBubbleByTheNumberOfChunks) {
  for (const auto& [p, m] : {Shape{2, 4}, Shape{4, 4}, Shape{4, 8}, Shape{8, 16}}) {
    for (const int v : {1, 2, 3, 6}) {
      // The whole stage takes 600 forward and 1200 backward.
      const PipelineRun run =
          RunEven({Schedule::kInterleaved, p, m, v}, {600 / v, 600 / v, 600 / v});
      for (int s = 0; s < p; ++s) {
        EXPECT_EQ(IdleNs(run, static_cast<size_t>(s)), (p - 1) * 1800 / v) << p << "x" << m;
      }
    }
  }
}

TEST(ClosedFormTest, ZeroBubbleH1PutsTheWeightGradientsIntoTheBubble) {
  for (const auto& [p, m] : kShapes) {
    for (const ChunkTimes& t : {ChunkTimes{100, 100, 100}, {150, 120, 90}, {100, 140, 100}}) {
      const PipelineRun run = RunEven({Schedule::kZeroBubbleH1, p, m, 1}, t);
      const int64_t idle_ns = t.forward_ns + t.backward_input_ns - t.backward_weight_ns;
      for (int s = 0; s < p; ++s) {
        EXPECT_EQ(IdleNs(run, static_cast<size_t>(s)), (p - 1) * idle_ns) << p << "x" << m;
      }
    }
  }
}

TEST(ClosedFormTest, ZeroBubbleVOfEqualTimesWaitsForNothingInsideTheIteration) {
  for (const auto& [p, m] : {Shape{2, 4}, Shape{4, 8}, Shape{4, 7}, Shape{8, 16}}) {
    const PipelineRun run = RunEven({Schedule::kZeroBubbleV, p, m, 2}, {100, 100, 100});
    for (int s = 0; s < p; ++s) {
      auto lengths = ByClass(run.stages[static_cast<size_t>(s)]);
      EXPECT_EQ(lengths[BubbleClass::kHead], OneUnlessZero(s * 100));
      EXPECT_EQ(lengths[BubbleClass::kTail], OneUnlessZero((p - 1 - s) * 100));
      EXPECT_EQ(lengths.count(BubbleClass::kMiddle), 0u);
      EXPECT_EQ(lengths.count(BubbleClass::kScattered), 0u);
    }
  }
}

// The paper's own figure: no bubble at all where no stage waits for all others.
TEST(ClosedFormTest, ZeroBubbleVWithFreeRunningOptimizersIsIdleForNoTimeAtAll) {
  const PipelineShape shape = {Schedule::kZeroBubbleV, 4, 12, 2};
  PipelineTimes times = Even(shape, {100, 100, 100});
  times.has_optimizer = true;
  for (StageTimes& stage : times.stages) stage.optimizer_ns = 500;
  const PipelineModel model{.shape = shape, .times = times, .memory = std::nullopt};
  EXPECT_EQ(RunPipeline(model).value().bubble_share, 0);
}

// Calibration table of PipeFill's 40B run: 16 stages, microbatches per replica by GPUs.
TEST(ClosedFormTest, SharesOfPipefillsMainJobByScale) {
  const std::pair<int, double> kByMicrobatches[] = {
      {64, 0.190}, {32, 0.319}, {16, 0.484}, {8, 0.652}};
  for (const auto& [m, share] : kByMicrobatches) {
    EXPECT_NEAR(RunEven({Schedule::kOneForwardOneBackward, 16, m, 1}, {100, 100, 100}).bubble_share,
                share, 0.0005);
  }
}

RC_GTEST_PROP(ClosedFormProperty, ZeroBubbleH1IsNeverIdleForLongerThan1F1B, ()) {
  PipelineShape shape = AnyShape();
  shape.chunks = 1;
  shape.schedule = Schedule::kOneForwardOneBackward;
  const PipelineTimes times = AnyEvenTimes(shape);
  const double plain = RunPipeline({shape, times, std::nullopt}).value().bubble_share;
  shape.schedule = Schedule::kZeroBubbleH1;
  const double put_off = RunPipeline({shape, times, std::nullopt}).value().bubble_share;
  if (shape.stages == 1) RC_ASSERT(put_off == 0);
  if (shape.stages > 1) RC_ASSERT(put_off < plain);
}

RC_GTEST_PROP(ClosedFormProperty, AnyEven1F1BIsIdleForItsClosedForm, ()) {
  PipelineShape shape = AnyShape();
  shape.chunks = 1;
  shape.schedule = *rc::gen::element(Schedule::kGpipe, Schedule::kOneForwardOneBackward);
  const PipelineRun run = RunPipeline({shape, AnyEvenTimes(shape), std::nullopt}).value();
  const double p = shape.stages;
  const double m = shape.microbatches;
  RC_ASSERT(std::abs(run.bubble_share - (p - 1) / (m + p - 1)) < 1e-12);
}

}  // namespace
}  // namespace pipefill::simulator
