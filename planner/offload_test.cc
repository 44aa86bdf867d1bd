#include "planner/offload.h"

#include <gtest/gtest.h>

namespace pipefill {
namespace {

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kMiB = int64_t{1} << 20;

// Iterations of 100 ms with bubbles of 30 and 20 ms that are 5 ms shorter at their tenth
// percentile.
Calendar MakeCalendar() {
  return {.bubbles = {{.name = "tail 0", .p10_ns = 25 * kMs, .p50_ns = 30 * kMs},
                      {.name = "middle 1", .p10_ns = 15 * kMs, .p50_ns = 20 * kMs}},
          .iteration_ns = 100 * kMs};
}

// A MiB in 1 ms, in either direction.
OffloadAsk Ask(int64_t mib) {
  return {.bytes = mib * kMiB,
          .out_bytes_per_second = 1000 * kMiB,
          .in_bytes_per_second = 1000 * kMiB,
          .step_ns = 10 * kMs};
}

TEST(OffloadTest, IsHiddenIfBothCopiesFitBetweenTwoSteps) {
  const OffloadPlan plan = PlanOffload(MakeCalendar(), Ask(10));
  EXPECT_TRUE(plan.is_hidden);
  EXPECT_EQ(plan.out_ns, 10 * kMs);
  EXPECT_EQ(plan.in_ns, 10 * kMs);
  EXPECT_EQ(plan.between_ns, 80 * kMs);
  EXPECT_EQ(plan.away_ns, 60 * kMs);
}

TEST(OffloadTest, BorderIsTheTimeBetweenTheStepsWithShortBubbles) {
  EXPECT_TRUE(PlanOffload(MakeCalendar(), Ask(40)).is_hidden);
  const OffloadPlan more = PlanOffload(MakeCalendar(), Ask(41));
  EXPECT_FALSE(more.is_hidden);
  EXPECT_EQ(more.away_ns, 0);
  EXPECT_EQ(more.bubble_ns, 0);
  EXPECT_NEAR(static_cast<double>(more.bytes_max), 40.0 * kMiB, 1);
}

TEST(OffloadTest, BothDirectionsHaveTheirOwnBandwidth) {
  OffloadAsk ask = Ask(10);
  ask.in_bytes_per_second = 100 * kMiB;
  EXPECT_FALSE(PlanOffload(MakeCalendar(), ask).is_hidden);
  EXPECT_EQ(PlanOffload(MakeCalendar(), ask).in_ns, 100 * kMs);
}

TEST(OffloadTest, CopiesMayAllLieInBubblesSoOnlyTheRestOfThemHasTheMemoryForCertain) {
  EXPECT_EQ(PlanOffload(MakeCalendar(), Ask(10)).bubble_ns, 20 * kMs);
  EXPECT_EQ(PlanOffload(MakeCalendar(), Ask(30)).bubble_ns, 0);
}

TEST(OffloadTest, BubbleTimeIsNeverMoreThanTheTimeAway) {
  Calendar calendar = MakeCalendar();
  calendar.iteration_ns = 55 * kMs;  // bubbles reach over the step
  const OffloadPlan plan = PlanOffload(calendar, Ask(1));
  EXPECT_EQ(plan.between_ns, 35 * kMs);
  EXPECT_EQ(plan.bubble_ns, 33 * kMs);
}

TEST(OffloadTest, NothingIsHiddenWhereTheStepIsTheWholeIteration) {
  OffloadAsk ask = Ask(1);
  ask.step_ns = 200 * kMs;
  const OffloadPlan plan = PlanOffload(MakeCalendar(), ask);
  EXPECT_FALSE(plan.is_hidden);
  EXPECT_EQ(plan.bytes_max, 0);
}

}  // namespace
}  // namespace pipefill
