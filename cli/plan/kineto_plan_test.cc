#include "cli/plan/kineto_plan.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/match.h"

namespace pipefill {
namespace {

constexpr int64_t kMs = 1'000'000;

// Builds one rank's trace, in milliseconds.
class TraceMaker {
 public:
  TraceMaker() {
    trace_.source = "rank0.json";
    trace_.names = {"gemm", "ncclDevKernel_SendRecv", "adam"};
  }

  void Kernel(int64_t begin_ms, int64_t end_ms, uint32_t name = 0) {
    trace_.devices[0].push_back(
        {begin_ms * kMs, end_ms * kMs, name == 1 ? 20 : 7, name, /*is_kernel=*/true});
  }
  void Step(int64_t number, int64_t begin_ms, int64_t end_ms) {
    trace_.steps.push_back({number, begin_ms * kMs, end_ms * kMs, 0});
  }
  // 100 ms: work, 30 ms of waiting in a kernel of NCCL, work, optimizer, 20 ms until the next one.
  void Iteration(int64_t number) {
    const int64_t begin_ms = number * 100;
    Step(number, begin_ms, begin_ms + 100);
    Kernel(begin_ms, begin_ms + 20);
    Kernel(begin_ms + 20, begin_ms + 50, 1);
    Kernel(begin_ms + 50, begin_ms + 70);
    Kernel(begin_ms + 70, begin_ms + 80, 2);
  }
  GpuTrace& trace() { return trace_; }

 private:
  GpuTrace trace_;
};

TEST(KinetoPlanTest, WaitingInACommunicationKernelIsIdleTime) {
  TraceMaker maker;
  for (int i = 0; i < 4; ++i) maker.Iteration(i);
  const IdlePlan plan = PlanOfTraces({maker.trace()}, kGapMinNs).value();

  EXPECT_TRUE(plan.is_measured);
  EXPECT_EQ(plan.iterations, 4);
  EXPECT_EQ(plan.iteration_ns, 100 * kMs);
  EXPECT_DOUBLE_EQ(plan.bubble_share, 0.5);
  ASSERT_EQ(plan.devices.size(), 1u);
  EXPECT_EQ(plan.devices[0].name, "rank 0 gpu 0");
  ASSERT_EQ(plan.devices[0].bubbles.size(), 2u);
  EXPECT_EQ(plan.devices[0].bubbles[0].bubble_class, BubbleClass::kScattered);
  EXPECT_EQ(plan.devices[0].bubbles[0].ordinal, 1);
  EXPECT_EQ(plan.devices[0].bubbles[0].p50_ns, 30 * kMs);
  EXPECT_EQ(plan.devices[0].bubbles[1].bubble_class, BubbleClass::kTail);
  EXPECT_EQ(plan.devices[0].bubbles[1].ordinal, 2);
  EXPECT_EQ(plan.devices[0].bubbles[1].offset_ns, 80 * kMs);
  EXPECT_TRUE(plan.notes.empty());
}

TEST(KinetoPlanTest, WithoutMarksIterationsComeFromTheKernelsAndANoteSaysSo) {
  TraceMaker maker;
  for (int i = 0; i < 4; ++i) maker.Iteration(i);
  maker.trace().steps.clear();
  const IdlePlan plan = PlanOfTraces({maker.trace()}, kGapMinNs).value();
  EXPECT_EQ(plan.iterations, 3);  // where the last one ends is not known
  EXPECT_DOUBLE_EQ(plan.bubble_share, 0.5);
  ASSERT_EQ(plan.notes.size(), 1u);
  EXPECT_TRUE(absl::StrContains(plan.notes[0], "no ProfilerStep marks"));
}

TEST(KinetoPlanTest, MarksThatEndWithTheLastWorkLeaveTheLastIterationOpen) {
  TraceMaker maker;
  for (int i = 0; i < 4; ++i) {
    maker.Iteration(i);
    maker.trace().steps.back().end_ns -= 20 * kMs;
  }
  const IdlePlan plan = PlanOfTraces({maker.trace()}, kGapMinNs).value();
  EXPECT_EQ(plan.iterations, 3);
  EXPECT_EQ(plan.iteration_ns, 100 * kMs);
  EXPECT_DOUBLE_EQ(plan.bubble_share, 0.5);
}

TEST(KinetoPlanTest, AnOddIterationCountsInTheShareAndNotInTheLengths) {
  TraceMaker maker;
  for (int i = 0; i < 3; ++i) maker.Iteration(i);
  maker.Step(3, 300, 400);  // idle but for one kernel
  maker.Kernel(300, 310);
  const IdlePlan plan = PlanOfTraces({maker.trace()}, kGapMinNs).value();
  EXPECT_DOUBLE_EQ(plan.bubble_share, (3 * 50.0 + 90) / 400);
  EXPECT_EQ(plan.devices[0].bubbles[0].p90_ns, 30 * kMs);
  ASSERT_EQ(plan.notes.size(), 1u);
  EXPECT_TRUE(absl::StrContains(plan.notes[0], "3 of 4 iterations"));
}

TEST(KinetoPlanTest, PausesBelowTheLeastAreNoBubbles) {
  TraceMaker maker;
  for (int i = 0; i < 4; ++i) maker.Iteration(i);
  const IdlePlan plan = PlanOfTraces({maker.trace()}, 25 * kMs).value();
  ASSERT_EQ(plan.devices[0].bubbles.size(), 1u);
  EXPECT_DOUBLE_EQ(plan.bubble_share, 0.3);
}

TEST(KinetoPlanTest, RanksStandSideBySide) {
  TraceMaker first;
  TraceMaker second;
  for (int i = 0; i < 4; ++i) first.Iteration(i);
  for (int i = 0; i < 4; ++i) second.Iteration(i);
  first.trace().rank = 4;
  second.trace().rank = 2;
  const IdlePlan plan = PlanOfTraces({first.trace(), second.trace()}, kGapMinNs).value();
  ASSERT_EQ(plan.devices.size(), 2u);
  EXPECT_EQ(plan.devices[0].name, "rank 4 gpu 0");
  EXPECT_EQ(plan.devices[1].name, "rank 2 gpu 0");
}

TEST(KinetoPlanTest, WhatCannotBePlannedSaysWhatToRecord) {
  const auto error = [](const std::vector<GpuTrace>& traces) {
    const auto plan = PlanOfTraces(traces, kGapMinNs);
    EXPECT_EQ(plan.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(plan.status().message());
  };
  GpuTrace none;
  none.source = "cpu.json";
  none.events = 12;
  EXPECT_TRUE(absl::StrContains(error({none}), "cpu.json: no work of a GPU among 12 events"));

  TraceMaker one;
  one.Kernel(0, 10);
  EXPECT_TRUE(absl::StrContains(error({one.trace()}), "no whole iteration of gpu 0"));

  TraceMaker waits;
  waits.Kernel(0, 10, 1);
  EXPECT_TRUE(absl::StrContains(error({waits.trace()}), "all of them communicate"));

  TraceMaker twice;
  twice.Iteration(0);
  twice.trace().rank = 1;
  EXPECT_TRUE(absl::StrContains(error({twice.trace(), twice.trace()}), "two traces of rank 1"));
}

}  // namespace
}  // namespace pipefill
