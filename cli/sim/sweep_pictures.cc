#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/output.h"
#include "cli/report/chart_axis.h"
#include "cli/report/chart_svg.h"
#include "cli/report/markup.h"
#include "cli/sim/sim_picture.h"
#include "simulator/pipeline/shape.h"

namespace pipefill {
namespace {

constexpr double kHourS = 3600;
// A sweep that spans such a factor is drawn over a logarithmic axis.
constexpr double kLogarithmicFrom = 7.9;

std::string Prefixed(const std::string& name, const std::string& text) {
  return name.empty() ? text : absl::StrCat(name, ", ", text);
}

// What the pointer shows on a run.
std::string FiguresText(const std::string& label, const SimOutcome& outcome) {
  const simulator::ClusterResult& result = outcome.result;
  return absl::StrCat(label, ": gain ", PercentText(result.gain), "; ", FormatCount(result.devices),
                      " devices, idle ", PercentText(result.bubble_share), ", ",
                      PercentText(result.filled_share), " of it filled");
}

std::string TimesText(const std::string& label, const SimOutcome& outcome) {
  const simulator::ClusterResult& result = outcome.result;
  return absl::StrCat(label, ": mean ", FormatSpan(absl::Seconds(result.completion_mean_s)),
                      ", last end after ", FormatSpan(absl::Seconds(result.last_end_s)), "; ",
                      FormatCount(result.jobs_completed), " of ",
                      FormatCount(result.jobs_submitted), " jobs done");
}

// nullopt: the run has no such figure.
using Measure = std::function<std::optional<double>(const SimOutcome&)>;

double GainPercent(const SimOutcome& outcome) { return outcome.result.gain * 100; }
double BusyPercent(const SimOutcome& outcome) { return (1 - outcome.result.bubble_share) * 100; }
double UsePercent(const SimOutcome& outcome) {
  return BusyPercent(outcome) * (1 + outcome.result.gain);
}

std::optional<double> Hours(const SimOutcome& outcome, double seconds) {
  return outcome.result.jobs_completed > 0 ? std::optional(seconds / kHourS) : std::nullopt;
}

// A time of a run, in hours; of one in which no job was done, none.
struct TimeMeasure {
  const char* name;
  const char* title;
  const char* note;
  std::optional<double> (*hours)(const SimOutcome& outcome);
};

constexpr TimeMeasure kTimeMeasures[] = {
    {"completion", "Mean completion time", "From submission to the end of a job.",
     [](const SimOutcome& outcome) { return Hours(outcome, outcome.result.completion_mean_s); }},
    {"last-end", "Last end",
     "From the beginning to the end of the last job: the makespan, if all jobs were there at the "
     "start.",
     [](const SimOutcome& outcome) { return Hours(outcome, outcome.result.last_end_s); }}};

bool HaveCompletions(const std::vector<SimOutcome>& outcomes) {
  return std::any_of(outcomes.begin(), outcomes.end(),
                     [](const SimOutcome& outcome) { return outcome.result.jobs_completed > 0; });
}

std::string UnfinishedNote(const std::vector<SimOutcome>& outcomes) {
  const bool is_all = std::all_of(outcomes.begin(), outcomes.end(), [](const SimOutcome& outcome) {
    return outcome.result.jobs_completed == outcome.result.jobs_submitted;
  });
  if (is_all) return "";
  return " Not all jobs were done when the simulation ended; the figures are of those that were. "
         "Runs in which none was done are left out.";
}

std::optional<ChartBar> BarOf(std::optional<double> value, std::string text) {
  if (!value.has_value()) return std::nullopt;
  return ChartBar{*value, std::move(text)};
}

// Draws along one dimension.
class Along {
 public:
  Along(const std::vector<Dimension>& dimensions, size_t along,
        const std::vector<SimOutcome>& outcomes)
      : dimension_(dimensions[along]),
        outcomes_(outcomes),
        series_(SplitBySchedule(SeriesAlong(dimensions, along))) {}

  std::vector<SimPicture> Draw() const {
    std::vector<SimPicture> pictures;
    switch (dimension_.kind) {
      case DimensionKind::kSize:
        pictures.push_back(Gain());
        pictures.push_back(Use());
        break;
      case DimensionKind::kNumber:
        pictures.push_back(Gain());
        pictures.push_back(Slowdown());
        break;
      case DimensionKind::kWord:
        pictures.push_back(GainBars());
        break;
      case DimensionKind::kPolicy:
        break;
    }
    return pictures;
  }

  SimPicture Times(const TimeMeasure& measure) const {
    LineChart chart = Lines(measure.hours, TimesText);
    chart.title = absl::StrCat(measure.title, " by ", AxisWords());
    chart.y_title = "hours";
    return {.name = absl::StrCat(measure.name, "-by-", FileWord()),
            .title = chart.title,
            .svg = LineChartSvg(chart),
            .note = absl::StrCat(measure.note, UnfinishedNote(outcomes_))};
  }

 private:
  using PointText = std::string (*)(const std::string& label, const SimOutcome& outcome);

  std::string ScheduleOf(size_t run) const {
    return Word(outcomes_[run].training.pipeline.shape.schedule);
  }

  // "16x8@gpipe" says two things: sizes that come several times are sizes of several schedules.
  std::vector<RunSeries> SplitBySchedule(std::vector<RunSeries> all) const {
    if (dimension_.kind != DimensionKind::kSize) return all;
    std::vector<RunSeries> split;
    for (const RunSeries& series : all) {
      const size_t first = split.size();
      for (const size_t run : series.runs) {
        const std::string name = Prefixed(series.name, ScheduleOf(run));
        auto own = std::find_if(split.begin() + static_cast<ptrdiff_t>(first), split.end(),
                                [&](const RunSeries& one) { return one.name == name; });
        if (own == split.end()) own = split.insert(own, {.name = name, .runs = {}});
        own->runs.push_back(run);
      }
      if (split.size() == first + 1) split.back().name = series.name;
    }
    return split;
  }

  // Bubbles grow with the time of an operation, and they are what matters.
  bool IsBubbleLength() const {
    return dimension_.field == "training.forward" || dimension_.field == "training.backward";
  }

  double X(const RunSeries& series, size_t i) const {
    const SimOutcome& outcome = outcomes_[series.runs[i]];
    if (IsBubbleLength()) return outcome.result.bubble_mean_s * 1e3;
    if (dimension_.kind == DimensionKind::kSize) return outcome.result.devices;
    return dimension_.numbers[i];
  }

  const std::string& LabelOf(const RunSeries& series, size_t i) const {
    const bool is_whole = series.runs.size() == dimension_.labels.size();
    return is_whole ? dimension_.labels[i] : series.name;
  }

  LineChart Lines(const Measure& measure, PointText text) const {
    LineChart chart{.title = "", .x_title = dimension_.title, .y_title = "", .lines = {}};
    if (IsBubbleLength()) chart.x_title = "mean length of the bubbles offered, ms";
    ValueRange range;
    for (const RunSeries& series : series_) {
      ChartLine line{.name = series.name, .points = {}};
      for (size_t i = 0; i < series.runs.size(); ++i) {
        const SimOutcome& outcome = outcomes_[series.runs[i]];
        const std::optional<double> y = measure(outcome);
        if (!y.has_value()) continue;
        const double x = X(series, i);
        range.Add(x);
        line.points.push_back({x, *y, text(LabelOf(series, i), outcome)});
        if (!IsBubbleLength()) chart.x_ticks.push_back({x, AxisNumber(x)});
      }
      std::sort(line.points.begin(), line.points.end(),
                [](const ChartPoint& a, const ChartPoint& b) { return a.x < b.x; });
      if (!line.points.empty()) chart.lines.push_back(std::move(line));
    }
    std::sort(chart.x_ticks.begin(), chart.x_ticks.end(),
              [](const AxisTick& a, const AxisTick& b) { return a.value < b.value; });
    chart.is_x_logarithmic = range.IsForLogarithm(kLogarithmicFrom);
    return chart;
  }

  SimPicture Gain() const {
    LineChart chart = Lines(GainPercent, FiguresText);
    chart.title = absl::StrCat("Gain against ", IsBubbleLength() ? "bubble length" : AxisWords());
    chart.y_title = "work of fill jobs, % of the main job's";
    return {.name = absl::StrCat("gain-by-", FileWord()),
            .title = chart.title,
            .svg = LineChartSvg(chart),
            .note = "Gain: what fill jobs compute, as a share of what the main job does."};
  }

  SimPicture Use() const {
    const LineChart filled = Lines(UsePercent, FiguresText);
    LineChart chart = Lines(BusyPercent, FiguresText);
    chart.title = "Use of the devices";
    chart.y_title = "work done, % of what devices without bubbles would do";
    for (ChartLine& line : chart.lines) line.name = Prefixed(line.name, "main job alone");
    for (const ChartLine& line : filled.lines) {
      chart.lines.push_back(line);
      chart.lines.back().name = Prefixed(line.name, "with filling");
    }
    return {.name = "use-by-size",
            .title = chart.title,
            .svg = LineChartSvg(chart),
            .note = "All work, in operations a second as the main job does them."};
  }

  // Empty unless something is overrun, and the training run changes.
  SimPicture Slowdown() const {
    if (!absl::StartsWith(dimension_.field, "training.")) return {};
    const bool has_any = std::any_of(outcomes_.begin(), outcomes_.end(), [](const auto& outcome) {
      return outcome.result.slowdown_max > 0;
    });
    if (!has_any) return {};
    LineChart chart = Lines(
        [](const SimOutcome& outcome) { return outcome.result.slowdown_max * 100; }, FiguresText);
    chart.title = absl::StrCat("Slowdown against ", AxisWords(), ", at most");
    chart.y_title = "longer iterations of the main job, %";
    return {.name = absl::StrCat("slowdown-by-", FileWord()),
            .title = chart.title,
            .svg = LineChartSvg(chart),
            .note =
                "If the worst overruns of all stages come in every iteration, one after the "
                "other: a bound, and of overruns only."};
  }

  // One series: idle, filled and gained side by side; several: the gain of each.
  SimPicture GainBars() const {
    BarChart chart{.title = absl::StrCat("Gain by ", AxisWords()),
                   .y_title = "%",
                   .groups = dimension_.labels,
                   .series = {}};
    if (series_.size() == 1) {
      chart.series.push_back(Bars("idle, % of time", series_[0], [](const SimOutcome& outcome) {
        return outcome.result.bubble_share * 100;
      }));
      chart.series.push_back(Bars("filled, % of time", series_[0], [](const SimOutcome& outcome) {
        return outcome.result.bubble_share * outcome.result.filled_share * 100;
      }));
      chart.series.push_back(Bars("gain, % of the main job's work", series_[0], GainPercent));
    } else {
      chart.y_title = "work of fill jobs, % of the main job's";
      for (const RunSeries& series : series_) {
        chart.series.push_back(Bars(series.name, series, GainPercent));
      }
    }
    return {.name = absl::StrCat("gain-by-", FileWord()),
            .title = chart.title,
            .svg = BarChartSvg(chart),
            .note = "Gain: what fill jobs compute, as a share of what the main job does."};
  }

  BarSeries Bars(const std::string& name, const RunSeries& series, const Measure& measure) const {
    BarSeries bars{.name = name, .bars = {}};
    for (size_t i = 0; i < series.runs.size(); ++i) {
      const SimOutcome& outcome = outcomes_[series.runs[i]];
      bars.bars.push_back(BarOf(measure(outcome), FiguresText(dimension_.labels[i], outcome)));
    }
    return bars;
  }

  // The title without its unit.
  std::string AxisWords() const { return dimension_.title.substr(0, dimension_.title.find(',')); }

  std::string FileWord() const {
    if (dimension_.kind == DimensionKind::kSize) return "size";
    return dimension_.field.substr(dimension_.field.rfind('.') + 1);
  }

  const Dimension& dimension_;
  const std::vector<SimOutcome>& outcomes_;
  const std::vector<RunSeries> series_;
};

// How many jobs come in how much time.
bool IsLoad(const std::string& field) {
  return absl::StartsWith(field, "workload.jobs") || field == "workload.trace.speed_up";
}

// By policy; and by what else is swept over, if anything is.
SimPicture PolicyBars(const std::vector<Dimension>& dimensions, size_t policy,
                      const std::vector<SimOutcome>& outcomes, const TimeMeasure& measure) {
  const std::vector<RunSeries> others = SeriesAlong(dimensions, policy);
  const std::vector<std::string>& policies = dimensions[policy].labels;
  BarChart chart{.title = absl::StrCat(measure.title, " by policy"),
                 .y_title = "hours",
                 .groups = {},
                 .series = {}};
  const auto bar_of = [&](size_t run, const std::string& label) {
    return BarOf(measure.hours(outcomes[run]), TimesText(label, outcomes[run]));
  };
  if (others.size() == 1) {
    chart.groups = policies;
    chart.series = {{.name = "", .bars = {}}};
    for (size_t i = 0; i < policies.size(); ++i) {
      chart.series[0].bars.push_back(bar_of(others[0].runs[i], policies[i]));
    }
  } else {
    for (const RunSeries& other : others) chart.groups.push_back(other.name);
    for (size_t i = 0; i < policies.size(); ++i) {
      BarSeries series{.name = policies[i], .bars = {}};
      for (const RunSeries& other : others) {
        series.bars.push_back(bar_of(other.runs[i], Prefixed(other.name, policies[i])));
      }
      chart.series.push_back(std::move(series));
    }
  }
  return {.name = absl::StrCat(measure.name, "-by-policy"),
          .title = chart.title,
          .svg = BarChartSvg(chart),
          .note = absl::StrCat(measure.note, UnfinishedNote(outcomes))};
}

}  // namespace

std::vector<SimPicture> SweepPictures(const std::vector<Dimension>& dimensions,
                                      const std::vector<SimOutcome>& outcomes) {
  std::vector<SimPicture> pictures;
  const auto policy = std::find_if(
      dimensions.begin(), dimensions.end(),
      [](const Dimension& dimension) { return dimension.kind == DimensionKind::kPolicy; });
  if (policy != dimensions.end() && HaveCompletions(outcomes)) {
    const auto at = static_cast<size_t>(policy - dimensions.begin());
    for (const TimeMeasure& measure : kTimeMeasures) {
      pictures.push_back(PolicyBars(dimensions, at, outcomes, measure));
    }
  }
  for (size_t d = 0; d < dimensions.size(); ++d) {
    const Along along(dimensions, d, outcomes);
    std::vector<SimPicture> own = along.Draw();
    const bool is_load =
        dimensions[d].kind == DimensionKind::kNumber && IsLoad(dimensions[d].field);
    if (is_load && HaveCompletions(outcomes)) {
      for (const TimeMeasure& measure : kTimeMeasures) own.push_back(along.Times(measure));
    }
    std::move(own.begin(), own.end(), std::back_inserter(pictures));
  }
  return pictures;
}

}  // namespace pipefill
