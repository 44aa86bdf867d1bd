#include "cli/report/figures.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

#include "cli/report/synthetic_trace.h"
#include "cli/report/testing/trace_builder.h"
#include "cli/report/trace_reader.h"

namespace pipefill {
namespace {

FiguresOptions NoSkip() {
  FiguresOptions options;
  options.skip_first = 0;
  return options;
}

// Iterations 0 to 9 of 100 ms, each with a bubble of 30 ms; job 1 fills 20 ms of it from iteration
// 1 on, and in iteration 5 another unit of 15 ms overruns by 10 ms.
class FiguresTest : public ::testing::Test {
 protected:
  FiguresTest() {
    rank = builder.AddRank("cpu0");
    task = builder.AddTask(1, "cpu0", 1);
    for (int i = 0; i < 10; ++i) {
      builder.Iteration(rank, static_cast<uint64_t>(i), i * 100);
      if (i > 0) builder.AddUnit(task, rank, i * 100 + 22, i * 100 + 42);
      if (i == 5) builder.AddUnit(task, rank, i * 100 + 45, i * 100 + 60);
    }
    builder.AddSample(task, 950, 70);
  }

  Figures Compute(const FiguresOptions& options = NoSkip()) {
    trace = builder.Read();
    absl::StatusOr<Figures> figures = ComputeFigures(trace, options);
    EXPECT_TRUE(figures.ok()) << figures.status();
    return *std::move(figures);
  }

  TraceBuilder builder;
  Trace trace;
  int rank = 0;
  int task = 0;
};

TEST_F(FiguresTest, BubbleRatioIsBubbleTimeOfIterationTime) {
  EXPECT_DOUBLE_EQ(*Compute().bubble_ratio, 0.3);
}

TEST_F(FiguresTest, FilledIsCpuTimeInsideOfBubbleTimeWhileATaskIsThere) {
  // Iterations 2 to 9: the task's first unit lies in iteration 1. 8 * 20 + 5 of 8 * 30 ms.
  EXPECT_DOUBLE_EQ(*Compute().bubble_filled, 165.0 / 240);
}

TEST_F(FiguresTest, OfferedIsWhatTheAgentOffered) {
  // Nothing recorded: all of it.
  EXPECT_EQ(Compute().bubbles[0].offered_ns, 240'000'000);
  int bubbles = 0;
  for (v1::TraceRecord& record : builder.records()) {
    if (record.edge().kind() != v1::EDGE_KIND_BUBBLE_BEGIN) continue;
    record.mutable_edge()->set_offered(++bubbles > 6);
  }
  const BubbleFigures bubble = Compute().bubbles[0];
  EXPECT_EQ(bubble.offered_ns, 120'000'000);
  EXPECT_EQ(bubble.open_ns, 240'000'000);
  EXPECT_EQ(bubble.open_count, 8);
}

TEST_F(FiguresTest, ABubbleCountsWhereItBegan) {
  builder.BeginIteration(rank, 10, 1000);
  builder.BeginBubble(rank, 1, 1080);
  builder.EndIteration(rank, 1100);
  builder.BeginIteration(rank, 11, 1100);
  builder.EndBubble(rank, 1130);
  builder.EndIteration(rank, 1200);
  const Figures figures = Compute();
  EXPECT_DOUBLE_EQ(*figures.bubble_ratio, (10 * 30.0 + 50) / 1200);
  ASSERT_EQ(figures.bubbles.size(), 2u);
  EXPECT_EQ(figures.bubbles[1].count, 1);
  EXPECT_EQ(figures.bubbles[1].p50_ns, 50'000'000);
  EXPECT_EQ(figures.iterations.count(IterationUse::kNotWhole), 0u);
}

TEST_F(FiguresTest, FailuresAreRowsOfTheirOwnAndNoPartOfTheShares) {
  const Figures before = Compute();
  builder.BeginIteration(rank, 10, 1000);
  builder.BeginBubble(rank, 0, 1020);
  builder.BeginFailure(rank, 6000);
  builder.AddFailureUnit(task, rank, 6010, 6030);
  builder.AddFailureUnit(task, rank, 6995, 7015);
  builder.EndBubble(rank, 7000);
  builder.EndFailure(rank, 7002);
  builder.EndIteration(rank, 7050);
  const Figures figures = Compute();
  EXPECT_EQ(figures.bubble_ratio, before.bubble_ratio);
  EXPECT_EQ(figures.bubble_filled, before.bubble_filled);
  EXPECT_EQ(figures.iterations.at(IterationUse::kStoodStill), 1);
  ASSERT_EQ(figures.bubbles.size(), 2u);
  const BubbleFigures& failure = figures.bubbles[1];
  EXPECT_EQ(BubbleText(failure.name), "failure 0");
  EXPECT_EQ(failure.count, 1);
  EXPECT_EQ(failure.bubble_ns, 1'000'000'000);
  EXPECT_EQ(failure.filled_ns, 25'000'000);
  EXPECT_EQ(failure.overrun_ns, 15'000'000);
}

TEST_F(FiguresTest, FilledOfAllStartsWithTheFirstUnit) {
  EXPECT_DOUBLE_EQ(*Compute().bubble_filled_all, 185.0 / 270);
}

TEST_F(FiguresTest, OverrunIsCpuTimeAfterTheEndOfBubbleTime) {
  EXPECT_DOUBLE_EQ(*Compute().overrun_ratio, 10.0 / 240);
}

TEST_F(FiguresTest, CountsCpuTimeAndNotWallTime) {
  for (v1::TraceRecord& record : builder.records()) {
    if (record.has_unit()) record.mutable_unit()->set_cpu_ns(record.unit().cpu_ns() / 2);
  }
  EXPECT_DOUBLE_EQ(*Compute().bubble_filled, (8 * 10 + 5) / 240.0);
  EXPECT_DOUBLE_EQ(*Compute().overrun_ratio, 2.5 / 240);
}

TEST_F(FiguresTest, RecoveredTakesTheUnitsOwnTimeWithoutARunAlone) {
  const Figures figures = Compute();
  EXPECT_DOUBLE_EQ(*figures.recovered_device_share, 195.0 / 900);
  EXPECT_EQ(figures.jobs.at(0).exclusive_equivalent_ns, 195'000'000);
  EXPECT_FALSE(figures.jobs.at(0).has_alone);
  EXPECT_EQ(
      figures.notes.back(),
      "no run alone given for job1: their exclusive equivalent is the CPU time they took here");
}

TEST_F(FiguresTest, RecoveredTakesTheTimePerUnitOfARunAlone) {
  FiguresOptions options = NoSkip();
  options.alone["job1"] = {.units = 100, .unit_cpu_ns = 900'000'000};
  const Figures figures = Compute(options);
  EXPECT_DOUBLE_EQ(*figures.recovered_device_share, 10 * 9.0 / 900);
  EXPECT_EQ(figures.jobs.at(0).exclusive_equivalent_ns, 90'000'000);
  EXPECT_TRUE(figures.jobs.at(0).has_alone);
}

TEST_F(FiguresTest, AddsUpWhatEachJobDid) {
  const JobFigures job = Compute().jobs.at(0);
  EXPECT_EQ(job.job_id, 1);
  EXPECT_EQ(job.units, 10);
  EXPECT_EQ(job.unit_cpu_ns, 195'000'000);
  EXPECT_EQ(job.in_bubble_cpu_ns, 185'000'000);
  EXPECT_EQ(job.memory_peak_bytes, 70);
  EXPECT_EQ(job.memory_cap_bytes, 100);
  EXPECT_FALSE(job.is_ended);
}

TEST_F(FiguresTest, DescribesEachBubble) {
  const Figures figures = Compute();
  ASSERT_EQ(figures.bubbles.size(), 1u);
  const BubbleFigures& bubble = figures.bubbles[0];
  EXPECT_EQ(BubbleText(bubble.name), "head 0");
  EXPECT_EQ(bubble.count, 10);
  EXPECT_DOUBLE_EQ(bubble.p50_ns, 30e6);
  EXPECT_EQ(bubble.open_count, 8);
  EXPECT_EQ(bubble.used_count, 8);
  EXPECT_EQ(bubble.offered_ns, 240'000'000);
  EXPECT_EQ(bubble.filled_ns, 165'000'000);
  EXPECT_EQ(bubble.overrun_ns, 10'000'000);
}

TEST_F(FiguresTest, LeavesHoldOutsOutOfTheFilledShare) {
  builder.SetHoldOut({.block_iterations = 1, .one_in = 2});
  const Figures figures = Compute();
  EXPECT_LT(figures.bubbles.at(0).open_count, 8);
  EXPECT_GT(figures.bubbles.at(0).open_count, 0);
}

TEST_F(FiguresTest, LeavesOutRunsInWhichNothingWasFilled) {
  builder.Detach(rank, 1100);
  const int other = builder.AddRank("cpu0");
  builder.records().back().mutable_rank_attached()->set_now_ns(TraceBuilder::Ns(2000));
  builder.BeginIteration(other, 0, 2000);
  builder.EndIteration(other, 2500);
  const Figures figures = Compute();
  EXPECT_EQ(figures.runs_left_out, 1);
  EXPECT_DOUBLE_EQ(*figures.bubble_ratio, 0.3);
}

TEST_F(FiguresTest, NamesTheMainJobsThereAreWhenTheOneAskedForIsNot) {
  FiguresOptions options = NoSkip();
  options.main_job = "bert";
  const absl::StatusOr<Figures> figures = ComputeFigures(builder.Read(), options);
  EXPECT_EQ(figures.status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(figures.status().message(), "no iteration of main job bert in the trace; it has: gpt");
}

TEST(FiguresEdgeTest, EmptyTraceIsNotFound) {
  EXPECT_EQ(ComputeFigures(Trace{}, {}).status().code(), absl::StatusCode::kNotFound);
}

TEST(FiguresEdgeTest, FiguresWithoutADivisorAreAbsent) {
  TraceBuilder builder;
  builder.Iteration(builder.AddRank("cpu0"), 1, 0);
  const Trace trace = builder.Read();
  const absl::StatusOr<Figures> figures = ComputeFigures(trace, NoSkip());
  ASSERT_TRUE(figures.ok());
  EXPECT_TRUE(figures->bubble_ratio.has_value());
  EXPECT_FALSE(figures->bubble_filled.has_value());
  EXPECT_FALSE(figures->overrun_ratio.has_value());
  EXPECT_FALSE(figures->slowdown.has_value());
  EXPECT_FALSE(figures->recovered_device_share.has_value());
  EXPECT_TRUE(figures->jobs.empty());
}

TEST(FiguresEdgeTest, FindsTheSlowdownThatWasPutIn) {
  SyntheticOptions options;
  options.iterations = 600;
  options.slowdown = 0.02;
  options.noise = 0.02;
  options.hold_out = {.block_iterations = 4, .one_in = 2};
  const Trace trace = ReadTraces({{"n1", SerializeTrace(SyntheticRecords(options))}});
  const absl::StatusOr<Figures> figures = ComputeFigures(trace, {});
  ASSERT_TRUE(figures.ok());
  ASSERT_TRUE(figures->slowdown.has_value() && figures->slowdown->interval.has_value());
  // Chunks are 2 % longer; what lies between them is not.
  EXPECT_NEAR(figures->slowdown->change, 0.02, 0.004);
  EXPECT_LT(figures->slowdown->interval->lo, figures->slowdown->change);
  EXPECT_GT(figures->slowdown->interval->hi, figures->slowdown->change);
  EXPECT_GT(figures->slowdown->interval->lo, 0.01);
}

RC_GTEST_PROP(FiguresPropertyTest, SharesStayWithinTheirBounds, (uint64_t seed)) {
  SyntheticOptions options;
  options.seed = seed;
  options.iterations = *rc::gen::inRange(1, 60);
  options.stages = *rc::gen::inRange(1, 4);
  options.noise = *rc::gen::inRange(0, 50) / 100.0;
  options.jobs[0].unit_ns = *rc::gen::inRange<int64_t>(100'000, 5'000'000);
  const Trace trace = ReadTraces({{"n1", SerializeTrace(SyntheticRecords(options))}});
  const absl::StatusOr<Figures> figures = ComputeFigures(trace, NoSkip());
  RC_ASSERT(figures.ok());
  for (const auto& share : {figures->bubble_ratio, figures->bubble_filled,
                            figures->bubble_filled_all, figures->recovered_device_share}) {
    const bool is_within = !share.has_value() || (*share >= 0 && *share <= 1);
    RC_ASSERT(is_within);
  }
  int64_t rows = 0;
  for (const auto& [use, count] : figures->iterations) rows += count;
  RC_ASSERT(rows == options.iterations);
}

}  // namespace
}  // namespace pipefill
