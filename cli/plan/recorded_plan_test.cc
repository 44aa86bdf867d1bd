#include "cli/plan/recorded_plan.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/match.h"
#include "cli/report/synthetic_trace.h"
#include "cli/report/testing/trace_builder.h"
#include "cli/report/trace_reader.h"

namespace pipefill {
namespace {

TEST(RecordedPlanTest, CountsIterationsFromBeginToBegin) {
  TraceBuilder builder;
  const int rank = builder.AddRank("cpu0");
  // Of each 125 ms the iteration takes 100, and its one bubble 30.
  for (int i = 0; i < 40; ++i) builder.Iteration(rank, static_cast<uint64_t>(i), i * 125.0);
  const IdlePlan plan = PlanOfRecord(builder.Read(), "trace.pb").value();

  EXPECT_TRUE(plan.is_measured);
  EXPECT_EQ(plan.iterations, 40 - 20 - 1);
  EXPECT_EQ(plan.iteration_ns, 125'000'000);
  EXPECT_NEAR(plan.bubble_share, 30.0 / 125, 1e-9);
  ASSERT_EQ(plan.devices.size(), 1u);
  ASSERT_EQ(plan.devices[0].bubbles.size(), 1u);
  EXPECT_EQ(plan.devices[0].bubbles[0].p50_ns, 30'000'000);
  EXPECT_EQ(plan.devices[0].bubbles[0].offset_ns, 20'000'000);
}

TEST(RecordedPlanTest, OfARankThatAttachedTwiceTheNewerTimeCounts) {
  TraceBuilder builder;
  const int other = builder.AddRank("cpu0", 0, "bert");
  for (int i = 0; i < 40; ++i) builder.Iteration(other, static_cast<uint64_t>(i), i * 110.0);
  builder.Detach(other, 4'900);
  const int older = builder.AddRank("cpu0");
  for (int i = 0; i < 40; ++i) {
    builder.Iteration(older, static_cast<uint64_t>(i), 5'000 + i * 125.0);
  }
  builder.Detach(older, 10'000);
  const int newer = builder.AddRank("cpu0");
  for (int i = 0; i < 40; ++i) {
    builder.Iteration(newer, static_cast<uint64_t>(i), 11'000 + i * 150.0);
  }
  const IdlePlan plan = PlanOfRecord(builder.Read(), "trace.pb").value();
  ASSERT_EQ(plan.devices.size(), 1u);
  EXPECT_EQ(plan.iteration_ns, 150'000'000);
  ASSERT_EQ(plan.notes.size(), 2u);
  EXPECT_TRUE(absl::StrContains(plan.notes[0], "1 older left out"));
  EXPECT_TRUE(absl::StrContains(plan.notes[1], "bert"));
}

TEST(RecordedPlanTest, WithEnoughHoldOutsTheyAloneCount) {
  SyntheticOptions options;
  options.iterations = 200;
  const Trace trace = ReadTraces({{"trace.pb", SerializeTrace(SyntheticRecords(options))}});
  const IdlePlan plan = PlanOfRecord(trace, "trace.pb").value();
  // One in eight of 200, on two stages, less those left out.
  EXPECT_GE(plan.iterations, 2 * 18);
  EXPECT_LE(plan.iterations, 2 * 25);
  EXPECT_TRUE(plan.notes.empty());
  // 4 microbatches on 2 stages: (p-1)/(m+p-1).
  EXPECT_NEAR(plan.bubble_share, 0.2, 0.02);
  EXPECT_EQ(plan.devices[0].stage, 0);
  EXPECT_EQ(plan.devices[1].stage, 1);
}

TEST(RecordedPlanTest, OfARunThatWasNotFilledEveryIterationCounts) {
  SyntheticOptions options;
  options.iterations = 200;
  options.jobs = {};
  const Trace trace = ReadTraces({{"trace.pb", SerializeTrace(SyntheticRecords(options))}});
  EXPECT_GE(PlanOfRecord(trace, "trace.pb").value().iterations, 2 * 175);
}

TEST(RecordedPlanTest, AFilledRunWithoutHoldOutsHasANote) {
  SyntheticOptions options;
  options.hold_out.one_in = 0;
  const Trace trace = ReadTraces({{"trace.pb", SerializeTrace(SyntheticRecords(options))}});
  const IdlePlan plan = PlanOfRecord(trace, "trace.pb").value();
  ASSERT_FALSE(plan.notes.empty());
  EXPECT_TRUE(absl::StrContains(plan.notes[0], "was filled"));
}

TEST(RecordedPlanTest, WhatHoldsNoRunOrNoIterationIsTold) {
  EXPECT_TRUE(absl::StrContains(PlanOfRecord(Trace(), "x.pb").status().message(),
                                "x.pb: no training run in it"));
  TraceBuilder builder;
  const int rank = builder.AddRank("cpu0");
  for (int i = 0; i < 10; ++i) builder.Iteration(rank, static_cast<uint64_t>(i), i * 100.0);
  EXPECT_TRUE(absl::StrContains(PlanOfRecord(builder.Read(), "x.pb").status().message(),
                                "no whole iteration behind its first 20"));
}

}  // namespace
}  // namespace pipefill
