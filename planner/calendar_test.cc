#include "planner/calendar.h"

#include <gtest/gtest.h>

namespace pipefill {
namespace {

constexpr int64_t kUs = 1'000;
constexpr int64_t kMs = 1'000'000;

// 4..6 ms; units of 1 ms may start until 4 ms, of 2 ms until 2 ms, of 5 ms never.
CalendarBubble Learned() {
  return {.name = "middle 0",
          .p10_ns = 4 * kMs,
          .p50_ns = 5 * kMs,
          .p90_ns = 6 * kMs,
          .memory_free_bytes = 1 << 20,
          .start_limits = {{1 * kMs, 4 * kMs}, {2 * kMs, 2 * kMs}, {5 * kMs, -1}}};
}

Calendar Of(const CalendarBubble& bubble) {
  return {.bubbles = {bubble}, .iteration_ns = 100 * kMs, .filled_share = 0.75, .hand_over_ns = 0};
}

TEST(LatestStartTest, LiesOnStraightLinesBetweenTheLearnedOnes) {
  EXPECT_EQ(LatestStart(Learned(), 1 * kMs), 4 * kMs);
  EXPECT_EQ(LatestStart(Learned(), 1500 * kUs), 3 * kMs);
  EXPECT_EQ(LatestStart(Learned(), 2 * kMs), 2 * kMs);
}

TEST(LatestStartTest, ShortUnitsCountAsTheShortestAndALineToNeverIsNever) {
  EXPECT_EQ(LatestStart(Learned(), 1), 4 * kMs);
  EXPECT_EQ(LatestStart(Learned(), 2001 * kUs), -1);
  EXPECT_EQ(LatestStart(Learned(), 6 * kMs), -1);
}

TEST(CycleTest, EndsWhereAUnitWouldThatStartsAsLateAsOneMay) {
  const Calendar calendar = Of(Learned());
  const auto length_ns = [&](BubbleLength length) {
    return CycleOf(calendar, length, 1 * kMs).windows[0].length_ns;
  };
  EXPECT_EQ(length_ns(BubbleLength::kShort), 5 * kMs);
  EXPECT_EQ(length_ns(BubbleLength::kMedian), 5 * kMs);
  EXPECT_EQ(length_ns(BubbleLength::kLong), 5 * kMs);
}

TEST(CycleTest, NoUnitStartsBehindTheEndOfTheBubble) {
  CalendarBubble bubble = Learned();
  bubble.p10_ns = 2 * kMs;
  EXPECT_EQ(CycleOf(Of(bubble), BubbleLength::kShort, 1 * kMs).windows[0].length_ns, 3 * kMs);
}

TEST(CycleTest, KeepsOutUnitsLongerThanAnyThatMayStart) {
  const Cycle cycle = CycleOf(Of(Learned()), BubbleLength::kMedian, 30 * kMs);
  EXPECT_EQ(cycle.windows[0].unit_max_ns, 2 * kMs);
  EXPECT_EQ(cycle.windows[0].length_ns, 4 * kMs);  // for those that it takes
}

TEST(CycleTest, OffersNothingWhereNoUnitMayStart) {
  CalendarBubble bubble = Learned();
  for (StartLimit& limit : bubble.start_limits) limit.latest_start_ns = -1;
  EXPECT_EQ(CycleOf(Of(bubble), BubbleLength::kMedian, kMs).window_total_ns(), 0);
}

TEST(CycleTest, BeginsAtTheEarliestStartIfTheBubbleLastsThatLong) {
  CalendarBubble bubble = Learned();
  bubble.earliest_start_ns = 3 * kMs;
  bubble.p10_ns = 3 * kMs;  // over when units may start
  bubble.p50_ns = 3500 * kUs;
  const Calendar calendar = Of(bubble);
  EXPECT_EQ(CycleOf(calendar, BubbleLength::kShort, 1 * kMs).windows[0].length_ns, 0);
  EXPECT_EQ(CycleOf(calendar, BubbleLength::kMedian, 1 * kMs).windows[0].length_ns, 1500 * kUs);
  EXPECT_EQ(CycleOf(calendar, BubbleLength::kLong, 1 * kMs).windows[0].length_ns, 2 * kMs);
}

TEST(CycleTest, TakesTheHandOverOffTheBegin) {
  Calendar calendar = Of(Learned());
  calendar.bubbles[0].start_limits.clear();
  calendar.hand_over_ns = 20 * kUs;
  EXPECT_EQ(CycleOf(calendar, BubbleLength::kMedian, kMs).windows[0],
            (Window{.length_ns = 4980 * kUs, .memory_free_bytes = 1 << 20}));
  calendar.hand_over_ns = 10 * kMs;
  EXPECT_EQ(CycleOf(calendar, BubbleLength::kMedian, kMs).windows[0].length_ns, 0);
}

TEST(CycleTest, HandsOnIterationAndShare) {
  const Cycle cycle = CycleOf(Of(Learned()), BubbleLength::kMedian, kMs);
  EXPECT_EQ(cycle.iteration_ns, 100 * kMs);
  EXPECT_EQ(cycle.filled_share, 0.75);
}

TEST(TypicalUnitTest, IsTheMeanOverTheTimeOfTheChain) {
  Configuration configuration;
  configuration.chain = {{.time_ns = 1 * kMs, .repeats = 3}, {.time_ns = 3 * kMs}};
  EXPECT_EQ(TypicalUnitNs(configuration), 2 * kMs);  // (3*1 + 9) / 6
}

}  // namespace
}  // namespace pipefill
