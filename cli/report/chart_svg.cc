#include "cli/report/chart_svg.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/output.h"
#include "cli/report/palette.h"
#include "cli/report/svg_canvas.h"

namespace pipefill {
namespace {

constexpr double kWidth = 620;
constexpr double kPlotHeight = 220;
constexpr double kLeft = 58;
constexpr double kRight = 24;
constexpr double kYTitleHeight = 26;
constexpr double kYTitleAbove = 12;
constexpr double kBelow = 46;  // numbers and title of the x axis
// Between numbers on the x axis.
constexpr double kLabelGap = 10;
// Between names of groups of bars.
constexpr double kNameGap = 4;
constexpr double kBarWidthMax = 64;
// Above the plot, for the number of a bar that reaches its top.
constexpr double kBarHeadRoom = 14;

constexpr double kLaneHeight = 20;
constexpr double kLaneGap = 5;
constexpr double kLaneLeft = 128;

// Where the axes are.
struct Plot {
  SvgBox box;
  Axis x;
  Axis y;

  double bottom() const { return box.y + box.height; }
  double X(double value) const { return box.x + x.Share(value) * box.width; }
  double Y(double value) const { return bottom() - y.Share(value) * box.height; }
};

template <typename Series>
std::vector<LegendEntry> LegendOf(const std::vector<Series>& series) {
  std::vector<LegendEntry> entries;
  if (series.size() == 1 && series.front().name.empty()) return entries;
  for (size_t i = 0; i < std::min(series.size(), kChartSeriesMax); ++i) {
    entries.push_back({JobColour(i), series[i].name});
  }
  if (series.size() > kChartSeriesMax) {
    entries.push_back({"card", absl::StrCat(series.size() - kChartSeriesMax, " more not drawn")});
  }
  return entries;
}

// The part of the picture for the plot, below `top`.
SvgBox PlotBox(double top) {
  return {kLeft, top + kYTitleHeight, kWidth - kLeft - kRight, kPlotHeight};
}

// The title stands `above` the plot.
void DrawYAxis(const Plot& plot, const std::string& title, double above, SvgCanvas& canvas) {
  canvas.Text({plot.box.x, plot.box.y - above}, SvgAnchor::kStart, title);
  for (const AxisTick& tick : plot.y.ticks) {
    const double y = plot.Y(tick.value);
    canvas.Line({plot.box.x, y}, {plot.box.x + plot.box.width, y},
                tick.value == 0 ? "muted" : "line");
    canvas.Text({plot.box.x - 8, y + 4}, SvgAnchor::kEnd, tick.label);
  }
}

// Numbers that would touch the one before are left out.
void DrawXAxis(const Plot& plot, const std::string& title, SvgCanvas& canvas) {
  const double bottom = plot.bottom();
  canvas.Line({plot.box.x, bottom}, {plot.box.x + plot.box.width, bottom}, "muted");
  double free = -std::numeric_limits<double>::infinity();
  for (const AxisTick& tick : plot.x.ticks) {
    const double x = plot.X(tick.value);
    canvas.Line({x, bottom}, {x, bottom + 5}, "muted");
    const double half = TextWidth(tick.label) / 2;
    if (x - half < free) continue;
    canvas.Text({x, bottom + 19}, SvgAnchor::kMiddle, tick.label);
    free = x + half + kLabelGap;
  }
  canvas.Text({plot.box.x + plot.box.width / 2, bottom + 38}, SvgAnchor::kMiddle, title);
}

Axis XAxisOf(const LineChart& chart, const ValueRange& range) {
  Axis axis = chart.is_x_logarithmic    ? LogarithmicAxis(range.low, range.high)
              : chart.x_ticks.empty()   ? RoundAxis(range.low, range.high)
              : range.low == range.high ? RoundAxis(range.low, range.high)
                                        : ExactAxis(std::min(range.low, 0.0), range.high);
  if (!chart.x_ticks.empty()) axis.ticks = chart.x_ticks;
  return axis;
}

void DrawLine(const Plot& plot, const LineChart& chart, size_t i, SvgCanvas& canvas) {
  const ChartLine& line = chart.lines[i];
  std::vector<SvgPoint> points;
  for (const ChartPoint& point : line.points) points.push_back({plot.X(point.x), plot.Y(point.y)});
  canvas.Curve(points, JobColour(i), line.name);
  if (!chart.has_dots) return;
  for (size_t k = 0; k < points.size(); ++k) {
    canvas.Dot(points[k], JobColour(i), line.points[k].text);
  }
}

std::string BarNumber(double value) {
  if (value == 0) return "0";
  if (value >= 100) return FormatCount(std::lround(value));
  return absl::StrFormat(value >= 10 ? "%.1f" : "%.2f", value);
}

struct BarGroup {
  const BarChart& chart;
  size_t number = 0;
};

// Places of bars: groups beside each other, the series of a group beside each other.
class BarLayout {
 public:
  BarLayout(const BarChart& chart, const SvgBox& box)
      : box_(box),
        series_(std::min(chart.series.size(), kChartSeriesMax)),
        room_(box.width / static_cast<double>(chart.groups.size())),
        width_(std::min(room_ * 0.8 / static_cast<double>(series_), kBarWidthMax)) {
    for (size_t i = 0; i < series_; ++i) {
      for (const std::optional<ChartBar>& bar : chart.series[i].bars) {
        if (bar.has_value() && TextWidth(BarNumber(bar->value)) > width_ - 2) has_numbers_ = false;
      }
    }
  }

  size_t series() const { return series_; }
  double room() const { return room_; }
  double width() const { return width_; }
  // Whether each bar has room for its number above it.
  bool has_numbers() const { return has_numbers_; }
  double Middle(size_t group) const { return box_.x + room_ * (static_cast<double>(group) + 0.5); }
  double Left(size_t group, size_t series) const {
    return Middle(group) +
           width_ * (static_cast<double>(series) - static_cast<double>(series_) / 2);
  }

 private:
  const SvgBox box_;
  const size_t series_;  // that are drawn
  const double room_;    // of a group
  const double width_;   // of a bar
  bool has_numbers_ = true;
};

void DrawGroup(const Plot& plot, const BarLayout& layout, const BarGroup& bars, SvgCanvas& canvas) {
  const auto& [chart, group] = bars;
  for (size_t i = 0; i < layout.series(); ++i) {
    const std::optional<ChartBar>& bar = chart.series[i].bars[group];
    if (!bar.has_value()) continue;
    const double x = layout.Left(group, i);
    const double y = plot.Y(bar->value);
    canvas.Box({x + 1, y, std::max(layout.width() - 2, 1.0), plot.bottom() - y}, JobColour(i),
               bar->text);
    if (!layout.has_numbers()) continue;
    canvas.Text({x + layout.width() / 2, y - 5}, SvgAnchor::kMiddle, BarNumber(bar->value));
  }
}

// Names that would touch the one before are left out.
void DrawGroupNames(const Plot& plot, const BarLayout& layout,
                    const std::vector<std::string>& groups, SvgCanvas& canvas) {
  const auto letters = static_cast<size_t>(std::max(4.0, (layout.room() - 6) / TextWidth("m")));
  double free = -std::numeric_limits<double>::infinity();
  for (size_t group = 0; group < groups.size(); ++group) {
    const std::string name = Shorten(groups[group], letters);
    const double x = layout.Middle(group);
    const double half = TextWidth(name) / 2;
    if (x - half < free) continue;
    canvas.Text({x, plot.bottom() + 19}, SvgAnchor::kMiddle, name);
    free = x + half + kNameGap;
  }
}

}  // namespace

std::string LineChartSvg(const LineChart& chart) {
  ValueRange x_range;
  ValueRange y_range;
  for (const ChartLine& line : chart.lines) {
    for (const ChartPoint& point : line.points) {
      x_range.Add(point.x);
      y_range.Add(point.y);
    }
  }
  if (x_range.is_empty()) return "";
  SvgCanvas canvas(kWidth, chart.title);
  const Plot plot{.box = PlotBox(canvas.Legend(LegendOf(chart.lines))),
                  .x = XAxisOf(chart, x_range),
                  .y = RoundAxis(y_range.low, y_range.high)};
  DrawYAxis(plot, chart.y_title, kYTitleAbove, canvas);
  DrawXAxis(plot, chart.x_title, canvas);
  for (size_t i = std::min(chart.lines.size(), kChartSeriesMax); i > 0; --i) {
    DrawLine(plot, chart, i - 1, canvas);
  }
  return canvas.Finish(plot.bottom() + kBelow);
}

std::string BarChartSvg(const BarChart& chart) {
  ValueRange range;
  for (const BarSeries& series : chart.series) {
    for (const std::optional<ChartBar>& bar : series.bars) {
      if (bar.has_value()) range.Add(bar->value);
    }
  }
  if (range.is_empty()) return "";
  SvgCanvas canvas(kWidth, chart.title);
  const Plot plot{.box = PlotBox(canvas.Legend(LegendOf(chart.series)) + kBarHeadRoom),
                  .x = {},
                  .y = RoundAxis(0, range.high)};
  DrawYAxis(plot, chart.y_title, kYTitleAbove + kBarHeadRoom, canvas);
  const BarLayout layout(chart, plot.box);
  for (size_t group = 0; group < chart.groups.size(); ++group) {
    DrawGroup(plot, layout, {chart, group}, canvas);
  }
  DrawGroupNames(plot, layout, chart.groups, canvas);
  return canvas.Finish(plot.bottom() + kBelow - 16);
}

std::string LaneChartSvg(const LaneChart& chart) {
  if (chart.rows.empty()) return "";
  static constexpr double kLaneWidth = 2 * kWidth;
  SvgCanvas canvas(kLaneWidth, chart.title);
  std::vector<LegendEntry> legend;
  for (size_t i = 0; i < std::min(chart.colours.size(), kJobColours); ++i) {
    legend.push_back({JobColour(i), chart.colours[i]});
  }
  const double top = canvas.Legend(legend) + 6;
  const double height = (kLaneHeight + kLaneGap) * static_cast<double>(chart.rows.size());
  const Plot plot{.box = {kLaneLeft, top, kLaneWidth - kLaneLeft - kRight, height},
                  .x = ExactAxis(0, chart.x_end),
                  .y = {}};
  double y = top;
  for (const LaneRow& row : chart.rows) {
    canvas.Text({14, y + kLaneHeight - 6}, SvgAnchor::kStart, row.name);
    canvas.Box({plot.box.x, y, plot.box.width, kLaneHeight}, "bubble", "");
    for (const LaneShape& shape : row.shapes) {
      const double x = plot.X(shape.begin);
      const double width = plot.X(shape.end) - x;
      canvas.Box({x, y, std::max(width - (width > 3 ? 1 : 0), 0.4), kLaneHeight},
                 JobColour(shape.colour), shape.text);
    }
    y += kLaneHeight + kLaneGap;
  }
  DrawXAxis(plot, chart.x_title, canvas);
  return canvas.Finish(plot.bottom() + kBelow);
}

}  // namespace pipefill
