#include "scheduler/core/refusal_table.h"

#include <gtest/gtest.h>

#include "scheduler/testing/builders.h"

namespace pipefill::scheduler {
namespace {

constexpr RefusalLimits kLimits = {
    .refusals_max = 3, .window = absl::Seconds(60), .quarantine = absl::Seconds(30)};

TEST(RefusalTableTest, EnoughRefusalsWithinTheWindowMakeAQuarantineThatEnds) {
  RefusalTable table(kLimits);
  EXPECT_FALSE(table.Note("a", "disk full", AtSecond(0)));
  EXPECT_FALSE(table.Note("a", "disk full", AtSecond(10)));
  EXPECT_FALSE(table.Note("b", "disk full", AtSecond(20)));
  EXPECT_EQ(table.Find("a", AtSecond(20)), nullptr);
  EXPECT_TRUE(table.Note("a", "no folder", AtSecond(20)));
  ASSERT_NE(table.Find("a", AtSecond(20)), nullptr);
  EXPECT_EQ(table.Find("a", AtSecond(20))->text,
            "it refused 3 launches within 1m0s, the last one: no folder");
  EXPECT_EQ(table.Find("b", AtSecond(20)), nullptr);
  EXPECT_NE(table.Find("a", AtSecond(49.9)), nullptr);
  EXPECT_EQ(table.Find("a", AtSecond(50)), nullptr);
}

TEST(RefusalTableTest, OldRefusalsAndThoseBeforeASuccessDoNotCount) {
  RefusalTable table(kLimits);
  table.Note("a", "x", AtSecond(0));
  table.Note("a", "x", AtSecond(30));
  EXPECT_FALSE(table.Note("a", "x", AtSecond(61)));
  table.Clear("a");
  EXPECT_FALSE(table.Note("a", "x", AtSecond(62)));
  EXPECT_FALSE(table.Note("a", "x", AtSecond(63)));
  EXPECT_TRUE(table.Note("a", "x", AtSecond(64)));
}

}  // namespace
}  // namespace pipefill::scheduler
