// Charts as SVG: lines over numbers, bars by name, lanes over time. Titles, axes with units and
// round numbers, a legend, and hover texts; no script.
//
// Pure.
#ifndef CLI_REPORT_CHART_SVG_H_
#define CLI_REPORT_CHART_SVG_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cli/report/chart_axis.h"

namespace pipefill {

// Series of one chart; further ones are left out, and the legend says so.
inline constexpr size_t kChartSeriesMax = 8;

struct ChartPoint {
  double x = 0;
  double y = 0;
  std::string text;  // shown where the pointer is
};

struct ChartLine {
  std::string name;
  std::vector<ChartPoint> points;  // by x
};

struct LineChart {
  std::string title;
  std::string x_title;  // with the unit
  std::string y_title;
  std::vector<ChartLine> lines;
  // What stands below the axis, where there is room; empty: round numbers.
  std::vector<AxisTick> x_ticks = {};
  bool is_x_logarithmic = false;  // all x are positive then
  bool has_dots = true;           // at the points
};

// "" without a point.
std::string LineChartSvg(const LineChart& chart);

struct ChartBar {
  double value = 0;  // >= 0
  std::string text;  // shown where the pointer is
};

struct BarSeries {
  std::string name;
  std::vector<std::optional<ChartBar>> bars;  // one per group; absent: nothing known
};

struct BarChart {
  std::string title;
  std::string y_title;
  std::vector<std::string> groups;  // what stands below the axis
  std::vector<BarSeries> series;
};

// "" without a bar.
std::string BarChartSvg(const BarChart& chart);

struct LaneShape {
  double begin = 0;
  double end = 0;
  size_t colour = 0;  // index into LaneChart::colours
  std::string text;   // shown where the pointer is
};

struct LaneRow {
  std::string name;
  std::vector<LaneShape> shapes;
};

struct LaneChart {
  std::string title;
  std::string x_title;               // with the unit
  double x_end = 1;                  // from 0; > 0
  std::vector<std::string> colours;  // what each stands for
  std::vector<LaneRow> rows;
};

// "" without a row.
std::string LaneChartSvg(const LaneChart& chart);

}  // namespace pipefill

#endif  // CLI_REPORT_CHART_SVG_H_
