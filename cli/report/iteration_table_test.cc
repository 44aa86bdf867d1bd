#include "cli/report/iteration_table.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "cli/report/testing/trace_builder.h"

namespace pipefill {
namespace {

constexpr int kNoSkip = 0;

// Iterations of 100 ms on one rank; a unit 22 ms into those from `first` to `last`, but not in
// held-out ones.
class RunStory {
 public:
  RunStory() : rank_(builder.AddRank("cpu0")) {}

  void AddTask(double at_ms) { task_ = builder.AddTask(1, "cpu0", at_ms); }

  void AddIterations(int first, int last, bool with_units,
                     const HoldOut& hold_out = {.one_in = 0}) {
    for (int i = first; i <= last; ++i) {
      builder.Iteration(rank_, static_cast<uint64_t>(i), i * 100);
      const bool is_held_out = IsHeldOut(hold_out, static_cast<uint64_t>(i));
      if (with_units && !is_held_out) builder.AddUnit(task_, rank_, i * 100 + 22, i * 100 + 23);
    }
  }

  std::map<uint64_t, IterationUse> Uses(int skip_first) {
    const Trace trace = builder.Read();
    std::map<uint64_t, IterationUse> uses;
    for (const IterationTable& run : MakeIterationTables(trace, "gpt", skip_first)) {
      for (const IterationRow& row : run.rows) uses[row.number] = row.use;
    }
    return uses;
  }

  TraceBuilder builder;

 private:
  int rank_;
  int task_ = 0;
};

TEST(IterationTableTest, LeavesOutTheFirstIterations) {
  RunStory run;
  run.AddTask(1);
  run.AddIterations(0, 9, true);
  const auto uses = run.Uses(3);
  EXPECT_EQ(uses.at(2), IterationUse::kFirst);
  EXPECT_EQ(uses.at(3), IterationUse::kCounted);
}

TEST(IterationTableTest, LeavesOutWhatIsBeforeTheFirstUnitAndAfterTheLast) {
  RunStory run;
  run.AddTask(1);
  run.AddIterations(0, 4, false);
  run.AddIterations(5, 7, true);
  run.AddIterations(8, 9, false);
  const auto uses = run.Uses(kNoSkip);
  EXPECT_EQ(uses.at(4), IterationUse::kBeforeFill);
  EXPECT_EQ(uses.at(5), IterationUse::kStartUp) << "the task's first unit lies in it";
  EXPECT_EQ(uses.at(6), IterationUse::kCounted);
  EXPECT_EQ(uses.at(8), IterationUse::kAfterFill);
}

TEST(IterationTableTest, LeavesOutIterationsWhileAnotherTaskStartsUp) {
  RunStory run;
  run.AddTask(1);
  run.AddIterations(0, 4, true);
  // Launched in iteration 5, first unit in 7.
  const int other = run.builder.AddTask(2, "cpu0", 550);
  run.AddIterations(5, 7, true);
  run.builder.AddUnit(other, 1, 724, 725);
  run.AddIterations(8, 9, true);
  const auto uses = run.Uses(kNoSkip);
  EXPECT_EQ(uses.at(4), IterationUse::kCounted);
  EXPECT_EQ(uses.at(5), IterationUse::kStartUp);
  EXPECT_EQ(uses.at(6), IterationUse::kStartUp);
  EXPECT_EQ(uses.at(7), IterationUse::kStartUp);
  EXPECT_EQ(uses.at(8), IterationUse::kCounted);
}

TEST(IterationTableTest, TakesATaskWithoutATurnAsWaitingAfterAWhile) {
  RunStory run;
  run.AddTask(1);
  run.AddIterations(0, 4, true);
  run.builder.AddTask(2, "cpu0", 450);
  run.AddIterations(598, 610, true);  // from 59.8 s on
  const auto uses = run.Uses(kNoSkip);
  EXPECT_EQ(uses.at(598), IterationUse::kStartUp);
  EXPECT_EQ(uses.at(605), IterationUse::kCounted);
}

TEST(IterationTableTest, LeavesOutIterationsWithoutATask) {
  RunStory run;
  run.AddTask(1);
  run.AddIterations(0, 3, true);
  run.builder.EndTask(1, 390);
  run.AddIterations(4, 6, false);
  run.AddTask(700);
  run.AddIterations(7, 9, true);
  const auto uses = run.Uses(kNoSkip);
  EXPECT_EQ(uses.at(2), IterationUse::kCounted);
  EXPECT_EQ(uses.at(5), IterationUse::kNoTask);
}

TEST(IterationTableTest, CountsHoldOutsByTheSameRules) {
  const HoldOut hold_out = {.block_iterations = 1, .one_in = 2};
  RunStory run;
  run.builder.SetHoldOut(hold_out);
  run.AddTask(1);
  run.AddIterations(0, 19, true, hold_out);
  const Trace trace = run.builder.Read();
  int held_out = 0;
  const auto runs = MakeIterationTables(trace, "gpt", kNoSkip);
  for (const IterationRow& row : runs.at(0).rows) {
    EXPECT_EQ(row.is_held_out, IsHeldOut(hold_out, row.number));
    held_out += row.is_held_out && row.use == IterationUse::kCounted ? 1 : 0;
  }
  EXPECT_GE(held_out, 8);
}

TEST(IterationTableTest, TakesTheMeanTimeOfTheRanks) {
  TraceBuilder builder;
  const int one = builder.AddRank("cpu0", 0);
  const int two = builder.AddRank("cpu1", 1);
  builder.BeginIteration(one, 1, 0);
  builder.EndIteration(one, 100);
  builder.BeginIteration(two, 1, 0);
  builder.EndIteration(two, 104);
  const auto runs = MakeIterationTables(builder.Read(), "gpt", kNoSkip);
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].rows.size(), 1u);
  EXPECT_DOUBLE_EQ(runs[0].rows[0].time_ns, 102e6);
}

TEST(IterationTableTest, CountsAnIterationOnlyIfEveryRankHasItWhole) {
  TraceBuilder builder;
  const int one = builder.AddRank("cpu0", 0);
  const int two = builder.AddRank("cpu1", 1);
  builder.Iteration(one, 1, 0);
  builder.Iteration(two, 1, 0);
  builder.Iteration(one, 2, 100);
  builder.BeginIteration(two, 2, 100);
  builder.DropEdges(two, 1);
  builder.Iteration(one, 3, 200);
  const auto runs = MakeIterationTables(builder.Read(), "gpt", kNoSkip);
  ASSERT_EQ(runs[0].rows.size(), 3u);
  EXPECT_NE(runs[0].rows[0].use, IterationUse::kNotWhole);
  EXPECT_EQ(runs[0].rows[1].use, IterationUse::kNotWhole);
  EXPECT_EQ(runs[0].rows[2].use, IterationUse::kNotWhole);
}

TEST(IterationTableTest, SeparatesRunsThatDoNotOverlap) {
  TraceBuilder builder;
  const int one = builder.AddRank("cpu0");
  builder.Iteration(one, 1, 0);
  builder.Detach(one, 110);
  const int two = builder.AddRank("cpu0");
  builder.records().back().mutable_rank_attached()->set_now_ns(TraceBuilder::Ns(300));
  builder.Iteration(two, 1, 310);
  const auto runs = MakeIterationTables(builder.Read(), "gpt", kNoSkip);
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].rows.size(), 1u);
  EXPECT_EQ(runs[1].rows.size(), 1u);
}

TEST(IterationTableTest, IgnoresOtherMainJobs) {
  TraceBuilder builder;
  builder.Iteration(builder.AddRank("cpu0", 0, "other"), 1, 0);
  EXPECT_TRUE(MakeIterationTables(builder.Read(), "gpt", kNoSkip).empty());
}

// Rows of a table by hand: time as a function of the number.
IterationTable TableOf(const HoldOut& hold_out, int rows, double held_out_ns, double filled_ns) {
  IterationTable table;
  table.hold_out = hold_out;
  for (int i = 0; i < rows; ++i) {
    IterationRow row;
    row.number = static_cast<uint64_t>(i);
    row.is_held_out = IsHeldOut(hold_out, row.number);
    row.use = IterationUse::kCounted;
    row.time_ns = row.is_held_out ? held_out_ns : filled_ns;
    table.rows.push_back(row);
  }
  return table;
}

TEST(PairNeighboursTest, MakesOnePairPerGroup) {
  const auto pairs = PairNeighbours(TableOf({.block_iterations = 1, .one_in = 8}, 80, 100, 101));
  ASSERT_EQ(pairs.size(), 10u);
  EXPECT_EQ(pairs[0].filled_median_ns, 101);
  EXPECT_EQ(pairs[0].held_out_median_ns, 100);
}

TEST(PairNeighboursTest, HasNoneWithoutHoldOutsOrWithNothingElse) {
  EXPECT_TRUE(PairNeighbours(TableOf({.block_iterations = 1, .one_in = 0}, 40, 100, 101)).empty());
  EXPECT_TRUE(PairNeighbours(TableOf({.block_iterations = 1, .one_in = 1}, 40, 100, 101)).empty());
}

TEST(PairNeighboursTest, LeavesOutIterationsThatAreNotCounted) {
  IterationTable table = TableOf({.block_iterations = 1, .one_in = 2}, 2, 100, 101);
  table.rows[0].use = IterationUse::kStartUp;
  EXPECT_TRUE(PairNeighbours(table).empty());
}

TEST(PairNeighboursTest, LeavesOutTheFirstIterationOfLongBlocks) {
  const HoldOut hold_out = {.block_iterations = 4, .one_in = 2};
  IterationTable table = TableOf(hold_out, 8, 100, 101);
  for (IterationRow& row : table.rows) {
    if (row.number % 4 == 0) row.time_ns = 1'000'000;
  }
  const auto pairs = PairNeighbours(table);
  ASSERT_EQ(pairs.size(), 1u);
  EXPECT_EQ(pairs[0].filled_mean_ns, 101);
  EXPECT_EQ(pairs[0].held_out_mean_ns, 100);
}

TEST(PairNeighboursTest, ComparesOnlyWithBlocksNearby) {
  const HoldOut hold_out = {.block_iterations = 1, .one_in = 64};
  IterationTable table = TableOf(hold_out, 64, 100, 101);
  uint64_t held_out = 0;
  for (const IterationRow& row : table.rows) held_out = row.is_held_out ? row.number : held_out;
  for (IterationRow& row : table.rows) {
    const uint64_t distance = std::max(row.number, held_out) - std::min(row.number, held_out);
    if (distance > kNeighbourBlocks) row.time_ns = 1'000'000;
  }
  EXPECT_EQ(PairNeighbours(table).at(0).filled_mean_ns, 101);
}

}  // namespace
}  // namespace pipefill
