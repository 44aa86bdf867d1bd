#include "cli/report/bubble_csv.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "cli/report/testing/trace_builder.h"

namespace pipefill {
namespace {

std::vector<std::string> LinesOf(const Trace& trace) {
  return absl::StrSplit(BubbleCsv(trace), '\n', absl::SkipEmpty());
}

TEST(BubbleCsvTest, HasARowForEveryBubbleOfAWholeIteration) {
  TraceBuilder builder;
  builder.SetHoldOut({.block_iterations = 1, .one_in = 1});
  builder.AddRank("cpu0", 1, "a,\"b\"");
  builder.Iteration(1, 7, 0);
  const int task = builder.AddTask(1, "cpu0", 1);
  builder.AddUnit(task, 1, 48, 52).set_cpu_ns(3'000'000);
  builder.BeginIteration(1, 8, 200);
  builder.Bubble(1, 0, 210, 220);
  const std::vector<std::string> lines = LinesOf(builder.Read());
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[1],
            "n1,\"a,\"\"b\"\"\",1,1,cpu0,7,1,1000000000,1100000000,head,0,1020000000,1050000000,1,"
            "2000000,1000000");
}

TEST(BubbleCsvTest, HasAFieldForEveryColumn) {
  const std::vector<std::string> lines = LinesOf(SmallRun().Read());
  ASSERT_GT(lines.size(), 40u);
  for (const std::string& line : lines) {
    EXPECT_EQ(std::vector<std::string>(absl::StrSplit(line, ',')).size(), 16u) << line;
  }
}

}  // namespace
}  // namespace pipefill
