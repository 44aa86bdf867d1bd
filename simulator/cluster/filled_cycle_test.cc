#include "simulator/cluster/filled_cycle.h"

#include <gtest/gtest.h>

namespace pipefill::simulator {
namespace {

constexpr int64_t kMs = 1'000'000;

TrainingRun FourStages(Schedule schedule) {
  TrainingRun run;
  run.pipeline.shape = {.schedule = schedule, .stages = 4, .microbatches = 8, .chunks = 1};
  StageTimes stage;
  stage.chunks = {
      {.forward_ns = 50 * kMs, .backward_input_ns = 50 * kMs, .backward_weight_ns = 50 * kMs}};
  run.pipeline.times.stages.assign(4, stage);
  return run;
}

JobClass Units(int64_t unit_ns) {
  JobClass job_class;
  job_class.name = "job";
  job_class.memory_bytes = 1;
  Configuration configuration;
  configuration.name = "default";
  configuration.chain = {{.time_ns = unit_ns}};
  job_class.profile.configurations = {configuration};
  return job_class;
}

TEST(FilledCycleTest, BubblesLieBetweenOperationsAndUnitsInTheirWindow) {
  TrainingRun run = FourStages(Schedule::kGpipe);
  run.rule.static_share = 0.5;
  const FilledCycle cycle = FillOneCycle(run, Units(kMs)).value();
  ASSERT_EQ(cycle.stages.size(), 4U);
  for (const FilledStage& stage : cycle.stages) {
    int64_t at_ns = 0;
    size_t next = 0;
    for (const FilledBubble& bubble : stage.bubbles) {
      while (next < stage.operations.size() && stage.operations[next].begin_ns == at_ns) {
        at_ns = stage.operations[next++].end_ns;
      }
      EXPECT_EQ(bubble.begin_ns, at_ns);
      at_ns = bubble.end_ns;
      EXPECT_TRUE(bubble.is_offered);
      EXPECT_LE(bubble.run.end_ns, (bubble.end_ns - bubble.begin_ns) / 2);
      EXPECT_GT(bubble.run.units, 0);
    }
  }
}

TEST(FilledCycleTest, BubblesThatAreLeftAloneAreThereWithoutUnits) {
  TrainingRun run = FourStages(Schedule::kOneForwardOneBackward);
  run.rule.fills_scattered = false;
  const FilledCycle cycle = FillOneCycle(run, Units(kMs)).value();
  int left_alone = 0;
  for (const FilledBubble& bubble : cycle.stages[0].bubbles) {
    const bool is_scattered = bubble.bubble_class == BubbleClass::kScattered;
    EXPECT_EQ(bubble.is_offered, !is_scattered);
    EXPECT_EQ(bubble.run.units > 0, !is_scattered);
    left_alone += is_scattered ? 1 : 0;
  }
  EXPECT_EQ(left_alone, 3);
}

TEST(FilledCycleTest, UnitsThatFitNowhereLeaveAllBubblesEmpty) {
  const FilledCycle cycle = FillOneCycle(FourStages(Schedule::kGpipe), Units(60'000 * kMs)).value();
  for (const FilledStage& stage : cycle.stages) {
    for (const FilledBubble& bubble : stage.bubbles) EXPECT_EQ(bubble.run.units, 0);
  }
}

}  // namespace
}  // namespace pipefill::simulator
