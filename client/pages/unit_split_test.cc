#include "client/pages/unit_split.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace pipefill {
namespace {

UnitSpan Span(uint64_t start_ns, uint64_t end_ns, uint64_t cpu_ns) {
  return {.start_ns = start_ns, .end_ns = end_ns, .cpu_ns = cpu_ns};
}

TEST(UnitSplitTest, UnitInsideItsBubbleHasNoOverrun) {
  const UnitSplit split = SplitUnit(Span(100, 200, 90), 200);
  EXPECT_EQ(split.in_bubble_ns, 90u);
  EXPECT_EQ(split.overrun_ns, 0u);
}

TEST(UnitSplitTest, ManyThreadsInsideTheBubbleAreNoOverrun) {
  EXPECT_EQ(SplitUnit(Span(100, 200, 390), 250).in_bubble_ns, 390u);
}

TEST(UnitSplitTest, WallTimeUpToTheEndIsInsideAndTheRestIsOverrun) {
  const UnitSplit split = SplitUnit(Span(100, 500, 90), 170);
  EXPECT_EQ(split.in_bubble_ns, 70u);
  EXPECT_EQ(split.overrun_ns, 20u);
}

TEST(UnitSplitTest, PreemptionAfterTheEndIsNotChargedToTheUnit) {
  // The main job ran from 170 to 400; the unit had used all but 5 of its CPU time before.
  EXPECT_EQ(SplitUnit(Span(100, 405, 75), 170).overrun_ns, 5u);
}

TEST(UnitSplitTest, UnitOfSeveralCoresHasThatManyTimesTheRoom) {
  const UnitSplit split = SplitUnit(Span(100, 200, 400), 150);
  EXPECT_EQ(split.in_bubble_ns, 200u);
  EXPECT_EQ(split.overrun_ns, 200u);
}

TEST(UnitSplitTest, StartAfterTheEndIsAllOverrun) {
  const UnitSplit split = SplitUnit(Span(180, 200, 15), 170);
  EXPECT_EQ(split.in_bubble_ns, 0u);
  EXPECT_EQ(split.overrun_ns, 15u);
}

TEST(UnitSplitTest, UnknownEndIsAllOverrun) {
  EXPECT_EQ(SplitUnit(Span(180, 200, 15), kBubbleEndUnknown).overrun_ns, 15u);
}

TEST(UnitSplitTest, PartsAddUpWhateverTheValues) {
  const uint64_t values[] = {0, 1, 17, 1'000'000, uint64_t{1} << 60};
  for (uint64_t start : values) {
    for (uint64_t end : values) {
      for (uint64_t cpu : values) {
        for (uint64_t bubble_end : values) {
          const UnitSplit split = SplitUnit(Span(start, end, cpu), bubble_end);
          EXPECT_EQ(split.in_bubble_ns + split.overrun_ns, cpu);
          EXPECT_LE(split.in_bubble_ns, cpu);
        }
      }
    }
  }
}

}  // namespace
}  // namespace pipefill
