#include "cli/report/chart_axis.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace pipefill {
namespace {

std::vector<std::string> Labels(const Axis& axis) {
  std::vector<std::string> labels;
  for (const AxisTick& tick : axis.ticks) labels.push_back(tick.label);
  return labels;
}

using Words = std::vector<std::string>;

TEST(ChartAxisTest, RoundAxesHaveRoundNumbersAndHoldTheirValues) {
  EXPECT_EQ(Labels(RoundAxis(7.9, 62.6)), (Words{"0", "20", "40", "60", "80"}));
  EXPECT_EQ(Labels(RoundAxis(0, 0.031)), (Words{"0", "0.01", "0.02", "0.03", "0.04"}));
  EXPECT_EQ(Labels(RoundAxis(0, 8192)), (Words{"0", "2,000", "4,000", "6,000", "8,000", "10,000"}));
  EXPECT_EQ(Labels(RoundAxis(-0.3, 0.4)), (Words{"-0.4", "-0.2", "0", "0.2", "0.4"}));
}

TEST(ChartAxisTest, RoundAxesBeginAtZeroUnlessThatLeavesMostOfThemEmpty) {
  EXPECT_EQ(RoundAxis(80, 100).begin, 0);
  EXPECT_EQ(RoundAxis(96, 100).begin, 96);
}

TEST(ChartAxisTest, OneValueIsAnAxisToo) {
  for (const double value : {0.0, 5.0, -5.0}) {
    const Axis axis = RoundAxis(value, value);
    EXPECT_LT(axis.begin, axis.end) << value;
    EXPECT_LE(axis.begin, value);
    EXPECT_GE(axis.end, value);
  }
  const Axis logarithmic = LogarithmicAxis(8, 8);
  EXPECT_NEAR(logarithmic.Share(8), 0.5, 1e-9);
}

TEST(ChartAxisTest, ValuesThatHardlyDifferAreOne) {
  const Axis axis = RoundAxis(99.97, 100);
  EXPECT_EQ(axis.begin, 0);
  EXPECT_EQ(Labels(axis), (Words{"0", "20", "40", "60", "80", "100"}));
  EXPECT_EQ(RoundAxis(-100, -99.97).end, 0);
  EXPECT_EQ(Labels(RoundAxis(0, 5e-324)), Labels(RoundAxis(0, 0)));
  EXPECT_NEAR(LogarithmicAxis(8, 8.001).Share(8), 0.5, 1e-3);
}

TEST(ChartAxisTest, ALogarithmicAxisThatWouldBeginAtZeroIsARoundOne) {
  for (const double low : {0.0, -3.0}) {
    const Axis axis = LogarithmicAxis(low, 100);
    EXPECT_FALSE(axis.is_logarithmic);
    EXPECT_LE(axis.begin, low);
    EXPECT_LT(axis.ticks.size(), 12U);
  }
}

TEST(ChartAxisTest, ARangeThatHoldsZeroIsForNoLogarithm) {
  ValueRange range;
  EXPECT_TRUE(range.is_empty());
  EXPECT_FALSE(range.IsForLogarithm(10));
  for (const double value : {10.0, 100.0}) range.Add(value);
  EXPECT_TRUE(range.IsForLogarithm(10));
  EXPECT_FALSE(range.IsForLogarithm(11));
  range.Add(0);
  EXPECT_FALSE(range.IsForLogarithm(10)) << "whichever comes first";
}

TEST(ChartAxisTest, LogarithmicAxesHaveEqualStepsForEqualFactors) {
  const Axis axis = LogarithmicAxis(1024, 8192);
  EXPECT_NEAR(axis.Share(2048), 1.0 / 3, 1e-9);
  EXPECT_EQ(Labels(axis), (Words{"2,000", "5,000"}));
  EXPECT_EQ(Labels(LogarithmicAxis(0.01, 10'000)),
            (Words{"0.01", "0.1", "1", "10", "100", "1,000", "10,000"}));
}

TEST(ChartAxisTest, NothingLiesBeyondTheEnds) {
  const Axis linear = ExactAxis(3, 24);
  EXPECT_EQ(linear.Share(1), 0);
  EXPECT_EQ(linear.Share(25), 1);
  EXPECT_EQ(Labels(linear), (Words{"5", "10", "15", "20"}));
  EXPECT_EQ(LogarithmicAxis(1, 10).Share(0), 0);
}

}  // namespace
}  // namespace pipefill
