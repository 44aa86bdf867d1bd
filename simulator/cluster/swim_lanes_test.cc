#include "simulator/cluster/swim_lanes.h"

#include <gtest/gtest.h>

#include <vector>

namespace pipefill::simulator {
namespace {

Instant At(int seconds) { return Instant() + absl::Seconds(100 + seconds); }

SwimLanes OneLane() { return SwimLanes({{.device = "n/gpu0", .stage = 2, .spans = {}}}, At(0)); }

LaneSpan Job(int64_t id) { return {.job = JobId(id), .job_class = "train"}; }

TEST(SwimLanesTest, KeepsAttemptsOfItsDevicesOnly) {
  SwimLanes lanes = OneLane();
  lanes.Begin(Fence(1), "n/gpu0", Job(7), At(10));
  lanes.Begin(Fence(2), "n/gpu1", Job(8), At(11));
  lanes.End(Fence(2), At(12));
  lanes.End(Fence(1), At(20));
  const std::vector<Lane> kept = lanes.Lanes(At(30));
  ASSERT_EQ(kept[0].spans.size(), 1U);
  EXPECT_EQ(kept[0].spans[0].job, JobId(7));
  EXPECT_EQ(kept[0].spans[0].begin_s, 10);
  EXPECT_EQ(kept[0].spans[0].end_s, 20);
}

TEST(SwimLanesTest, WhatStillRunsLastsUntilNow) {
  SwimLanes lanes = OneLane();
  lanes.Begin(Fence(1), "n/gpu0", Job(7), At(10));
  EXPECT_EQ(lanes.Lanes(At(30))[0].spans[0].end_s, 30);
  EXPECT_EQ(lanes.Lanes(At(40))[0].spans[0].end_s, 40);
}

TEST(SwimLanesTest, ALongRunIsCutOff) {
  SwimLanes lanes = OneLane();
  for (size_t i = 0; i < kLaneSpansMax + 5; ++i) {
    lanes.Begin(Fence(i + 1), "n/gpu0", Job(1), At(0));
    lanes.End(Fence(i + 1), At(1));
  }
  EXPECT_EQ(lanes.Lanes(At(2))[0].spans.size(), kLaneSpansMax);
}

}  // namespace
}  // namespace pipefill::simulator
