#include "client/pages/unit_split.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace pipefill {
namespace {

TEST(UnitSplitTest, UnitInsideItsBubbleHasNoOverrun) {
  const UnitSplit split = SplitUnit(100, 200, 90, 200);
  EXPECT_EQ(split.in_bubble_ns, 90);
  EXPECT_EQ(split.overrun_ns, 0);
}

TEST(UnitSplitTest, ManyThreadsInsideTheBubbleAreNoOverrun) {
  EXPECT_EQ(SplitUnit(100, 200, 390, 250).in_bubble_ns, 390);
}

TEST(UnitSplitTest, WallTimeUpToTheEndIsInsideAndTheRestIsOverrun) {
  const UnitSplit split = SplitUnit(100, 500, 90, 170);
  EXPECT_EQ(split.in_bubble_ns, 70);
  EXPECT_EQ(split.overrun_ns, 20);
}

TEST(UnitSplitTest, PreemptionAfterTheEndIsNotChargedToTheUnit) {
  // The main job ran from 170 to 400; the unit had used all but 5 of its CPU time before.
  EXPECT_EQ(SplitUnit(100, 405, 75, 170).overrun_ns, 5);
}

TEST(UnitSplitTest, StartAfterTheEndIsAllOverrun) {
  const UnitSplit split = SplitUnit(180, 200, 15, 170);
  EXPECT_EQ(split.in_bubble_ns, 0);
  EXPECT_EQ(split.overrun_ns, 15);
}

TEST(UnitSplitTest, OpenBubbleHoldsEverything) {
  EXPECT_EQ(SplitUnit(100, 500, 90, INT64_MAX).in_bubble_ns, 90);
}

TEST(UnitSplitTest, AbsurdValuesNeitherOverflowNorGoNegative) {
  const int64_t extremes[] = {INT64_MIN, -1, 0, 1, INT64_MAX};
  for (int64_t start : extremes) {
    for (int64_t end : extremes) {
      for (int64_t cpu : extremes) {
        for (int64_t bubble_end : extremes) {
          const UnitSplit split = SplitUnit(start, end, cpu, bubble_end);
          EXPECT_GE(split.in_bubble_ns, 0);
          EXPECT_GE(split.overrun_ns, 0);
          EXPECT_EQ(split.in_bubble_ns + split.overrun_ns, cpu < 0 ? 0 : cpu);
        }
      }
    }
  }
}

}  // namespace
}  // namespace pipefill
