#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "cli/output.h"
#include "cli/report/chart_axis.h"
#include "cli/report/chart_svg.h"
#include "cli/report/markup.h"
#include "cli/sim/sim_output.h"
#include "cli/sim/sim_picture.h"
#include "cli/words.h"

namespace pipefill {
namespace {

constexpr double kHourS = 3600;
// Times that span such a factor are drawn over a logarithmic axis.
constexpr double kLogarithmicFrom = 50;

std::string ClassText(const std::string& name, const simulator::ClassFigures& figures) {
  return absl::StrCat(name, ": ", PercentText(figures.bubble_share), " of the devices' time, ",
                      PercentText(figures.filled_share), " of it filled");
}

std::vector<BubbleClass> ClassesOf(const std::vector<SimOutcome>& outcomes) {
  std::vector<BubbleClass> classes;
  for (const BubbleClass bubble_class : kSimClasses) {
    const bool is_there =
        std::any_of(outcomes.begin(), outcomes.end(), [bubble_class](const SimOutcome& outcome) {
          return outcome.result.classes.contains(bubble_class);
        });
    if (is_there) classes.push_back(bubble_class);
  }
  return classes;
}

// One number of each class, of one run.
template <typename Of>
BarSeries ClassBars(const std::string& name, const std::vector<BubbleClass>& classes,
                    const SimOutcome& outcome, const Of& of) {
  BarSeries series{.name = name, .bars = {}};
  for (const BubbleClass bubble_class : classes) {
    const auto found = outcome.result.classes.find(bubble_class);
    const bool is_there = found != outcome.result.classes.end();
    series.bars.push_back(
        is_there ? std::optional(ChartBar{of(found->second) * 100,
                                          ClassText(Word(bubble_class), found->second)})
                 : std::nullopt);
  }
  return series;
}

SimPicture ClassPicture(const std::vector<Dimension>& dimensions,
                        const std::vector<SimOutcome>& outcomes) {
  const std::vector<BubbleClass> classes = ClassesOf(outcomes);
  BarChart chart{.title = "Bubbles by class", .y_title = "", .groups = {}, .series = {}};
  for (const BubbleClass bubble_class : classes) chart.groups.push_back(Word(bubble_class));
  std::string note;
  if (outcomes.size() == 1) {
    chart.y_title = "% of the devices' time";
    chart.series.push_back(
        ClassBars("in bubbles", classes, outcomes[0],
                  [](const simulator::ClassFigures& figures) { return figures.bubble_share; }));
    chart.series.push_back(
        ClassBars("filled of it", classes, outcomes[0], [](const simulator::ClassFigures& figures) {
          return figures.bubble_share * figures.filled_share;
        }));
  } else {
    chart.title = "Filled share by class of bubble";
    chart.y_title = "% of the time in such bubbles";
    for (size_t i = 0; i < outcomes.size(); ++i) {
      chart.series.push_back(
          ClassBars(RunName(dimensions, i), classes, outcomes[i],
                    [](const simulator::ClassFigures& figures) { return figures.filled_share; }));
    }
  }
  return {.name = "filled-by-class",
          .title = chart.title,
          .svg = BarChartSvg(chart),
          .note =
              "Head: before a stage's first forward. Middle: between its forwards and its "
              "backwards. Tail: after its last backward. Scattered: all others."};
}

SimPicture CompletionPicture(const std::vector<Dimension>& dimensions,
                             const std::vector<SimOutcome>& outcomes) {
  LineChart chart{.title = "Completion times",
                  .x_title = "hours from submission to end",
                  .y_title = "% of the jobs done",
                  .lines = {},
                  .has_dots = false};
  ValueRange range;  // of what stands between the first job and the last
  for (size_t i = 0; i < outcomes.size(); ++i) {
    const std::vector<double>& quantiles_s = outcomes[i].result.completion_quantiles_s;
    if (quantiles_s.empty()) continue;
    ChartLine line{.name = RunName(dimensions, i), .points = {}};
    for (size_t k = 0; k < quantiles_s.size(); ++k) {
      const double share = static_cast<double>(k) / static_cast<double>(quantiles_s.size() - 1);
      line.points.push_back({quantiles_s[k] / kHourS, share * 100, ""});
    }
    range.Add(line.points[1].x);
    range.Add(line.points.back().x);
    chart.lines.push_back(std::move(line));
  }
  chart.is_x_logarithmic = range.IsForLogarithm(kLogarithmicFrom);
  if (chart.is_x_logarithmic) {
    for (ChartLine& line : chart.lines) {
      for (ChartPoint& point : line.points) point.x = std::max(point.x, range.low);
    }
  }
  return {.name = "completion-times",
          .title = chart.title,
          .svg = LineChartSvg(chart),
          .note = "How many of the jobs that were done took at most so long."};
}

}  // namespace

std::vector<SimPicture> RunPictures(const std::vector<Dimension>& dimensions,
                                    const std::vector<SimOutcome>& outcomes) {
  return {ClassPicture(dimensions, outcomes), CompletionPicture(dimensions, outcomes)};
}

}  // namespace pipefill
