#include "cli/report/chart_svg.h"

#include <gtest/gtest.h>

#include <regex>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace pipefill {
namespace {

LineChart TwoLines() {
  return {.title = "gain by size",
          .x_title = "devices",
          .y_title = "gain, %",
          .lines = {{"gpipe", {{1024, 7.8, "1K: 7.8 %"}, {8192, 62.6, "8K: 62.6 %"}}},
                    {"1f1b", {{1024, 7.1, ""}, {8192, 60, ""}}}},
          .is_x_logarithmic = true};
}

BarChart TwoGroups() {
  return {.title = "by policy",
          .y_title = "hours",
          .groups = {"fifo", "sjf"},
          .series = {{"mean", {ChartBar{11.6, "fifo: 11.6 h"}, ChartBar{7.9, ""}}},
                     {"last", {ChartBar{197.6, ""}, std::nullopt}}}};
}

// Values of an attribute in every shape of a kind, in their order.
std::vector<double> Values(const std::string& svg, const std::string& tag,
                           const std::string& attribute) {
  const std::regex pattern(absl::StrCat("<", tag, "[^>]* ", attribute, "=\"([-0-9.]+)\""));
  std::vector<double> values;
  for (std::sregex_iterator at(svg.begin(), svg.end(), pattern), end; at != end; ++at) {
    values.push_back(std::stod((*at)[1]));
  }
  return values;
}

TEST(ChartSvgTest, LinesHaveTitlesNumbersUnitsAndHoverTexts) {
  const std::string svg = LineChartSvg(TwoLines());
  for (const char* text : {"gain by size", "devices", "gain, %", "gpipe</text>", "1f1b</text>",
                           ">60</text>", "<title>8K: 62.6 %</title>"}) {
    EXPECT_TRUE(absl::StrContains(svg, text)) << text;
  }
}

TEST(ChartSvgTest, LargerValuesLieHigherAndFurtherRight) {
  LineChart chart = TwoLines();
  chart.lines.pop_back();
  const std::string svg = LineChartSvg(chart);
  const std::vector<double> x = Values(svg, "circle", "cx");
  const std::vector<double> y = Values(svg, "circle", "cy");
  ASSERT_EQ(x.size(), 2U);
  EXPECT_LT(x[0], x[1]);
  EXPECT_GT(y[0], y[1]);
}

TEST(ChartSvgTest, GivenNumbersBelowTheAxisThatWouldTouchAreLeftOut) {
  LineChart chart = TwoLines();
  chart.is_x_logarithmic = false;
  chart.x_ticks = {{1024, "1,024"}, {1025, "1,025"}, {8192, "8,192"}};
  const std::string svg = LineChartSvg(chart);
  EXPECT_TRUE(absl::StrContains(svg, ">1,024</text>"));
  EXPECT_FALSE(absl::StrContains(svg, ">1,025</text>"));
  EXPECT_TRUE(absl::StrContains(svg, ">8,192</text>"));
}

TEST(ChartSvgTest, BarsAreAsHighAsTheirValues) {
  const std::string svg = BarChartSvg(TwoGroups());
  std::vector<double> heights;
  for (const double height : Values(svg, "rect", "height")) {
    if (height != 12) heights.push_back(height);  // not of the legend
  }
  ASSERT_EQ(heights.size(), 4U);  // the ground, and no bar where nothing is known
  EXPECT_NEAR(heights[2] / heights[1], 197.6 / 11.6, 0.1);
  EXPECT_TRUE(absl::StrContains(svg, "<title>fifo: 11.6 h</title>"));
  EXPECT_TRUE(absl::StrContains(svg, ">198</text>"));
}

TEST(ChartSvgTest, AllBarsHaveTheirNumbersOrNone) {
  BarChart chart = TwoGroups();
  chart.groups.resize(20, "policy");
  for (BarSeries& series : chart.series) series.bars.resize(20, ChartBar{7, ""});
  const std::string svg = BarChartSvg(chart);
  EXPECT_FALSE(absl::StrContains(svg, ">7.00</text>"));
  EXPECT_FALSE(absl::StrContains(svg, ">198</text>"));
}

TEST(ChartSvgTest, NamesOfGroupsThatWouldTouchAreLeftOut) {
  BarChart chart = {.title = "", .y_title = "", .groups = {}, .series = {{"", {}}}};
  for (int i = 0; i < 60; ++i) {
    chart.groups.push_back(absl::StrCat(10 + i, "%"));
    chart.series[0].bars.push_back(ChartBar{1, ""});
  }
  const std::string svg = BarChartSvg(chart);
  EXPECT_TRUE(absl::StrContains(svg, ">10%</text>"));
  EXPECT_FALSE(absl::StrContains(svg, ">11%</text>"));
  chart.groups.resize(10);
  chart.series[0].bars.resize(10);
  EXPECT_TRUE(absl::StrContains(BarChartSvg(chart), ">11%</text>"));
}

TEST(ChartSvgTest, MoreSeriesThanColoursAreCountedNotDrawn) {
  LineChart chart = TwoLines();
  chart.lines.resize(kChartSeriesMax + 3, chart.lines.front());
  const std::string svg = LineChartSvg(chart);
  EXPECT_TRUE(absl::StrContains(svg, "3 more not drawn"));
  EXPECT_EQ(Values(svg, "circle", "cx").size(), 2 * kChartSeriesMax);
}

TEST(ChartSvgTest, LanesShowWhenAndWhat) {
  const LaneChart chart = {.title = "who filled what",
                           .x_title = "hours",
                           .x_end = 10,
                           .colours = {"inference", "training"},
                           .rows = {{"stage 0", {{0, 5, 0, "job 1"}, {5, 10, 1, "job 2"}}}}};
  const std::string svg = LaneChartSvg(chart);
  for (const char* text :
       {"stage 0", "inference</text>", "hours", "<title>job 2</title>", "class=\"job1\""}) {
    EXPECT_TRUE(absl::StrContains(svg, text)) << text;
  }
  const std::vector<double> x = Values(svg, "rect", "x");
  EXPECT_GT(x.back(), x[x.size() - 2]);
}

TEST(ChartSvgTest, ShapesStayInsideThePicture) {
  for (const std::string& svg : {LineChartSvg(TwoLines()), BarChartSvg(TwoGroups())}) {
    const double width = Values(svg, "svg", "width").front();
    const double height = Values(svg, "svg", "height").front();
    for (const double x : Values(svg, "text", "x")) EXPECT_TRUE(x >= 0 && x <= width) << x;
    for (const double y : Values(svg, "text", "y")) EXPECT_TRUE(y >= 0 && y <= height) << y;
  }
}

TEST(ChartSvgTest, NamesAreEscapedAndNothingIsFetched) {
  LineChart chart = TwoLines();
  chart.title = "<script>";
  chart.lines[0].points[0].text = "a & b";
  const std::string svg = LineChartSvg(chart);
  EXPECT_FALSE(absl::StrContains(svg, "<script>"));
  EXPECT_TRUE(absl::StrContains(svg, "a &amp; b"));
  EXPECT_FALSE(absl::StrContains(svg, "href"));
  EXPECT_TRUE(absl::StrContains(svg, "prefers-color-scheme:dark"));
}

TEST(ChartSvgTest, WithoutAnythingToShowThereIsNoPicture) {
  EXPECT_EQ(LineChartSvg({}), "");
  EXPECT_EQ(BarChartSvg({}), "");
  EXPECT_EQ(LaneChartSvg({}), "");
}

}  // namespace
}  // namespace pipefill
