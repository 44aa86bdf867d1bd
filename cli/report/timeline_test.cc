#include "cli/report/timeline.h"

#include <gtest/gtest.h>

#include "cli/report/figures.h"
#include "cli/report/testing/trace_builder.h"

namespace pipefill {
namespace {

// A table by hand: as many rows, held out where `held_out` says.
IterationTable TableOf(const std::vector<bool>& held_out) {
  IterationTable table;
  for (size_t i = 0; i < held_out.size(); ++i) {
    IterationRow row;
    row.number = i;
    row.is_held_out = held_out[i];
    row.use = IterationUse::kCounted;
    table.rows.push_back(row);
  }
  return table;
}

TEST(TimelineTest, ShowsFilledIterationsAndThenAHoldOut) {
  std::vector<bool> held_out(40, false);
  for (size_t i : {4u, 21u, 36u}) held_out[i] = true;
  const RowRange rows = RepresentativeRows(TableOf(held_out), 3, 2);
  EXPECT_EQ(rows.begin, 19u);
  EXPECT_EQ(rows.end, 22u);
}

TEST(TimelineTest, ShowsTheMiddleWithoutHoldOuts) {
  const RowRange rows = RepresentativeRows(TableOf(std::vector<bool>(40, false)), 3, 2);
  EXPECT_EQ(rows.end - rows.begin, 3u);
  EXPECT_EQ(rows.begin, 18u);
}

TEST(TimelineTest, ShowsAllOfAShortRun) {
  const RowRange rows = RepresentativeRows(TableOf({false, true}), 3, 2);
  EXPECT_EQ(rows.begin, 0u);
  EXPECT_EQ(rows.end, 2u);
}

TEST(TimelineTest, AvoidsIterationsThatAreNotCompared) {
  std::vector<bool> held_out(40, false);
  held_out[20] = held_out[30] = true;
  IterationTable table = TableOf(held_out);
  table.rows[19].use = IterationUse::kStartUp;
  EXPECT_EQ(RepresentativeRows(table, 3, 2).begin, 28u);
}

TEST(TimelineTest, WorkBeginsWhereTheBubbleOfTheIterationBeforeEnds) {
  TraceBuilder builder;
  const int rank = builder.AddRank("cpu0");
  builder.BeginIteration(rank, 1, 0);
  builder.BeginBubble(rank, 0, 80);
  builder.EndIteration(rank, 100);
  builder.BeginIteration(rank, 2, 101);
  builder.EndBubble(rank, 120);
  builder.EndIteration(rank, 200);
  const Trace trace = builder.Read();
  FiguresOptions options;
  options.skip_first = 0;
  const Figures figures = *ComputeFigures(trace, options);
  const Timeline timeline = MakeTimeline(trace, figures, {.begin = 0, .end = 2});
  ASSERT_EQ(timeline.devices[0].work.size(), 2u);
  EXPECT_EQ(timeline.devices[0].work[0].end_ns, 80'000'000);
  EXPECT_EQ(timeline.devices[0].work[1].begin_ns, 120'000'000);
  ASSERT_EQ(timeline.devices[0].bubbles.size(), 1u);
  EXPECT_EQ(timeline.devices[0].bubbles[0].end_ns, 120'000'000);
}

class TimelineShapesTest : public ::testing::Test {
 protected:
  TimelineShapesTest() {
    const int rank = builder.AddRank("cpu0");
    const int task = builder.AddTask(1, "cpu0", 1);
    for (int i = 0; i < 4; ++i) {
      builder.Iteration(rank, static_cast<uint64_t>(i), i * 100);
      builder.AddUnit(task, rank, i * 100 + 45, i * 100 + 60);
    }
    trace = builder.Read();
    FiguresOptions options;
    options.skip_first = 0;
    figures = *ComputeFigures(trace, options);
  }

  TraceBuilder builder;
  Trace trace;
  Figures figures;
};

TEST_F(TimelineShapesTest, CountsTimeFromTheFirstIterationOfTheRun) {
  const Timeline timeline = MakeTimeline(trace, figures, {.begin = 1, .end = 3});
  EXPECT_EQ(timeline.begin_ns(), 100'000'000);
  EXPECT_EQ(timeline.end_ns(), 300'000'000);
}

TEST_F(TimelineShapesTest, TakesAsWorkWhatIsNoBubble) {
  const Timeline timeline = MakeTimeline(trace, figures, {.begin = 1, .end = 2});
  const TimelineDevice& device = timeline.devices.at(0);
  ASSERT_EQ(device.work.size(), 2u);
  EXPECT_EQ(device.work[0].begin_ns, 100'000'000);
  EXPECT_EQ(device.work[0].end_ns, 120'000'000);
  EXPECT_EQ(device.work[1].begin_ns, 150'000'000);
  EXPECT_EQ(device.work[1].end_ns, 200'000'000);
}

TEST_F(TimelineShapesTest, CutsAUnitAtTheEndOfItsBubble) {
  const Timeline timeline = MakeTimeline(trace, figures, {.begin = 1, .end = 2});
  const TimelineDevice& device = timeline.devices.at(0);
  ASSERT_EQ(device.units.size(), 1u);
  EXPECT_EQ(device.units[0].begin_ns, 145'000'000);
  EXPECT_EQ(device.units[0].inside_end_ns, 150'000'000);
  EXPECT_EQ(device.units[0].end_ns, 160'000'000);
  EXPECT_EQ(device.units[0].overrun_ns, 10'000'000);
  EXPECT_EQ(timeline.jobs.at(device.units[0].job).name, "job1");
}

TEST_F(TimelineShapesTest, TakesAsManyRowsAsShapesAllow) {
  // Per row: the iteration, a bubble with the work around it, and a unit.
  const RowRange rows = RowsWithin(trace, figures.runs[0], 9);
  EXPECT_EQ(rows.end - rows.begin, 3u);
  const RowRange all = RowsWithin(trace, figures.runs[0], 1000);
  EXPECT_EQ(all.end - all.begin, 4u);
}

}  // namespace
}  // namespace pipefill
