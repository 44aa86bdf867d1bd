#include "scheduler/core/main_job_table.h"

#include <gtest/gtest.h>

#include "scheduler/testing/builders.h"

namespace pipefill::scheduler {
namespace {

TEST(MainJobTableTest, NothingIsSetForMainJobsThatNobodyChanged) {
  const MainJobTable table(2);
  EXPECT_FALSE(table.Contains("gpt"));
  EXPECT_EQ(table.SettingsOf("gpt").main_job, "gpt");
  EXPECT_FALSE(table.SettingsOf("gpt").is_anything_set());
}

TEST(MainJobTableTest, ChangeLeavesTheRestAsItIs) {
  MainJobTable table(2);
  MainJobSettings settings = PausedMainJob("gpt");
  settings.budget_ppm = 5'000;
  table.Set(settings);
  MainJobChange change;
  change.main_job = "gpt";
  change.mode = FillMode::kReport;
  change.static_share_ppm = 680'000;

  const MainJobSettings changed = table.Changed(change);

  EXPECT_EQ(changed.mode, FillMode::kReport);
  EXPECT_EQ(changed.static_share_ppm, 680'000u);
  EXPECT_TRUE(changed.is_paused);
  EXPECT_EQ(changed.budget_ppm, 5'000u);
}

TEST(MainJobTableTest, FieldsCanBeUnsetAgain) {
  MainJobTable table(2);
  MainJobSettings settings = PausedMainJob("gpt");
  settings.budget_ppm = 5'000;
  settings.mode = FillMode::kOff;
  table.Set(settings);
  MainJobChange change;
  change.main_job = "gpt";
  change.mode = FillMode::kUnknown;
  change.budget_ppm = 0;
  change.is_paused = false;
  EXPECT_FALSE(table.Changed(change).is_anything_set());
}

TEST(MainJobTableTest, SnapshotDoesNotSeeLaterChanges) {
  MainJobTable table(2);
  table.Set(PausedMainJob("gpt"));
  const auto before = table.Snapshot();
  table.Set(PausedMainJob("bert"));
  EXPECT_EQ(before->size(), 1u);
  EXPECT_EQ(table.Snapshot()->size(), 2u);
}

TEST(MainJobTableTest, MainJobWithNothingSetMakesRoomAtTheLimitAndNoOtherDoes) {
  MainJobTable table(2);
  MainJobSettings unset;
  unset.main_job = "a";
  table.Set(unset);
  table.Set(PausedMainJob("b"));
  ASSERT_TRUE(table.HasRoomFor("c"));
  table.Set(PausedMainJob("c"));
  EXPECT_FALSE(table.Contains("a"));
  EXPECT_FALSE(table.HasRoomFor("d"));
  EXPECT_TRUE(table.HasRoomFor("b"));
}

}  // namespace
}  // namespace pipefill::scheduler
