#include "agent/checkpoint_report.h"

#include <gtest/gtest.h>

namespace pipefill {
namespace {

v1::FillProgress Report(const CheckpointView& view) {
  v1::FillProgress progress;
  ReportCheckpoints(view, 1'000'000, &progress);
  return progress;
}

TEST(CheckpointReportTest, AJobWithoutHooksSaysSo) {
  EXPECT_EQ(Report({}).resumed_from(), "the beginning: it has no checkpoint hooks");
}

TEST(CheckpointReportTest, SaysFromWhereAnAttemptWentOn) {
  EXPECT_EQ(Report({.has_hooks = true}).resumed_from(), "the beginning");
  EXPECT_EQ(Report({.has_hooks = true,
                    .is_resumed = true,
                    .resumed_fence = 5,
                    .resumed_number = 3,
                    .resumed_useful_ns = 12'300'000'000})
                .resumed_from(),
            "checkpoint 3 of the attempt with fence 5, 12.3 s of work");
}

TEST(CheckpointReportTest, TellsSavesWithTheTimeOfTheWallClock) {
  const v1::FillProgress progress = Report({.has_hooks = true,
                                            .saves_done = 4,
                                            .saves_failed = 1,
                                            .save_end_ns = 234,
                                            .save_cost_ns = 56});
  EXPECT_EQ(progress.checkpoints(), 4);
  EXPECT_EQ(progress.checkpoint_failures(), 1);
  EXPECT_EQ(progress.checkpoint_ns(), 56);
  EXPECT_EQ(progress.checkpoint_unix_ns(), 1'000'234);
  EXPECT_EQ(Report({.has_hooks = true}).checkpoint_unix_ns(), 0);
}

}  // namespace
}  // namespace pipefill
