#include "cli/report/control_course.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "cli/output.h"
#include "cli/report/markup.h"
#include "common/quantity.h"

namespace pipefill {
namespace {

// Rows of a table.
constexpr size_t kRowsShown = 12;

ControlCourse CourseOf(const Trace& trace, const RankTrace& rank) {
  ControlCourse course;
  course.node = trace.starts[rank.start].node;
  course.device = rank.device;
  course.rank = rank.rank;
  course.begin_ns = rank.is_declared ? rank.attached_ns : rank.first_edge_ns;
  course.end_ns = std::max(rank.last_edge_ns, rank.controls.back().now_ns);
  course.lambda_min = course.lambda_max = rank.controls.front().overrun_ratio;
  for (size_t i = 0; i < rank.controls.size(); ++i) {
    const ControlPoint& point = rank.controls[i];
    const bool is_last = i + 1 == rank.controls.size();
    const int64_t until_ns = is_last ? course.end_ns : rank.controls[i + 1].now_ns;
    course.state_ns[point.state] += until_ns - point.now_ns;
    course.back_offs = std::max(course.back_offs, point.back_offs);
    course.lambda_min = std::min(course.lambda_min, point.overrun_ratio);
    course.lambda_max = std::max(course.lambda_max, point.overrun_ratio);
  }
  course.points = Thinned(rank.controls, kControlPointsMax);
  return course;
}

std::string Words(const std::string& state) { return absl::StrReplaceAll(state, {{"_", " "}}); }

std::string EstimateText(const ControlPoint& point) {
  if (!point.slowdown.has_value()) return "-";
  const std::string text = absl::StrFormat("%+.2f %%", *point.slowdown * 100);
  if (!point.slowdown_low.has_value() || !point.slowdown_high.has_value()) return text;
  return absl::StrFormat("%s (%+.2f..%+.2f)", text, *point.slowdown_low * 100,
                         *point.slowdown_high * 100);
}

std::string AtText(const ControlCourse& course, const ControlPoint& point) {
  return absl::StrFormat("%.1f s", static_cast<double>(point.now_ns - course.begin_ns) / 1e9);
}

// One course as a picture: lambda above, the estimate with its interval and the budget below.
class CoursePicture {
 public:
  explicit CoursePicture(const ControlCourse& course) : course_(course) {
    low_ = 0;
    high_ = 0;
    for (const ControlPoint& point : course.points) {
      high_ = std::max(high_, point.budget * 1.5);
      low_ = std::min(low_, std::max(point.slowdown_low.value_or(0), -0.05));
      high_ = std::max(high_, std::min(point.slowdown_high.value_or(0), 0.1));
    }
    if (low_ >= high_) high_ = low_ + 0.01;
  }

  std::string Draw() {
    out_ = absl::StrFormat("<svg class=\"course\" viewBox=\"0 0 %d %d\" role=\"img\">", kWidth,
                           kHeight);
    DrawStops();
    DrawLambda();
    DrawEstimate();
    const double seconds = static_cast<double>(course_.end_ns - course_.begin_ns) / 1e9;
    Text(kLeft, kHeight - 2, "0 s", "start");
    Text(kWidth - kRight, kHeight - 2, absl::StrFormat("%.0f s", seconds), "end");
    return absl::StrCat(out_, "</svg>");
  }

 private:
  static constexpr int kWidth = 900;
  static constexpr int kHeight = 214;
  static constexpr int kLeft = 64;
  static constexpr int kRight = 8;
  static constexpr int kLambdaTop = 8;
  static constexpr int kLambdaHeight = 76;
  static constexpr int kEstimateTop = 98;
  static constexpr int kEstimateHeight = 98;

  double X(int64_t ns) const {
    const auto span = static_cast<double>(std::max<int64_t>(1, course_.end_ns - course_.begin_ns));
    const double share = static_cast<double>(ns - course_.begin_ns) / span;
    return kLeft + std::clamp(share, 0.0, 1.0) * (kWidth - kLeft - kRight);
  }
  double LambdaY(double lambda) const {
    const double top = std::max(course_.lambda_max * 1.1, 0.05);
    return kLambdaTop + (1 - std::clamp(lambda / top, 0.0, 1.0)) * kLambdaHeight;
  }
  double EstimateY(double slowdown) const {
    const double share = (slowdown - low_) / (high_ - low_);
    return kEstimateTop + (1 - std::clamp(share, 0.0, 1.0)) * kEstimateHeight;
  }
  int64_t EndOf(size_t i) const {
    return i + 1 < course_.points.size() ? course_.points[i + 1].now_ns : course_.end_ns;
  }

  void Text(double x, double y, const std::string& text, const char* anchor) {
    absl::StrAppendFormat(&out_, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>", x, y,
                          anchor, EscapeMarkup(text));
  }

  // Bands where nothing was filled on purpose.
  void DrawStops() {
    for (size_t i = 0; i < course_.points.size(); ++i) {
      const std::string& state = course_.points[i].state;
      if (state != "backed_off" && state != "paused" && state != "parked") continue;
      const double x = X(course_.points[i].now_ns);
      absl::StrAppendFormat(&out_,
                            "<rect class=\"%s\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" "
                            "height=\"%d\"><title>%s</title></rect>",
                            state == "backed_off" ? "off" : "rest", x, kLambdaTop,
                            std::max(X(EndOf(i)) - x, 0.5),
                            kEstimateTop + kEstimateHeight - kLambdaTop,
                            EscapeMarkup(absl::StrCat(Words(state), ": ", course_.points[i].text)));
    }
  }

  void DrawLambda() {
    std::string path;
    for (size_t i = 0; i < course_.points.size(); ++i) {
      const ControlPoint& point = course_.points[i];
      absl::StrAppendFormat(&path, "%s%.1f %.1fH%.1f", i == 0 ? "M" : "L", X(point.now_ns),
                            LambdaY(point.overrun_ratio), X(EndOf(i)));
    }
    absl::StrAppend(&out_, "<path class=\"lambda\" d=\"", path, "\"/>");
    Text(kLeft - 6, kLambdaTop + 9, absl::StrFormat("%.2f", course_.lambda_max), "end");
    Text(kLeft - 6, kLambdaTop + kLambdaHeight / 2 + 4, "lambda", "end");
    Text(kLeft - 6, kLambdaTop + kLambdaHeight, "0", "end");
    absl::StrAppendFormat(&out_, "<line class=\"axis\" x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\"/>",
                          kLeft, kLambdaTop + kLambdaHeight, kWidth - kRight,
                          kLambdaTop + kLambdaHeight);
  }

  void DrawEstimate() {
    for (size_t i = 0; i < course_.points.size(); ++i) {
      const ControlPoint& point = course_.points[i];
      const double x = X(point.now_ns);
      const double width = std::max(X(EndOf(i)) - x, 0.5);
      if (point.slowdown_low.has_value() && point.slowdown_high.has_value()) {
        const double y = EstimateY(*point.slowdown_high);
        absl::StrAppendFormat(
            &out_, "<rect class=\"band\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>", x,
            y, width, std::max(EstimateY(*point.slowdown_low) - y, 0.5));
      }
      if (point.slowdown.has_value()) HorizontalLine("estimate", x, width, *point.slowdown);
      HorizontalLine("budget", x, width, point.budget);
    }
    HorizontalLine("axis", kLeft, kWidth - kRight - kLeft, 0);
    Text(kLeft - 6, EstimateY(0) + 4, "0 %", "end");
    const double budget = course_.points.back().budget;
    Text(kLeft - 6, EstimateY(budget) + 4, absl::StrFormat("%g %%", budget * 100), "end");
  }

  void HorizontalLine(const char* name, double x, double width, double value) {
    absl::StrAppendFormat(&out_,
                          "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>",
                          name, x, EstimateY(value), x + width, EstimateY(value));
  }

  const ControlCourse& course_;
  double low_;  // ends of the scale of the estimate
  double high_;
  std::string out_;
};

}  // namespace

std::vector<ControlCourse> ControlCourses(const Trace& trace, const IterationTable& run) {
  std::vector<ControlCourse> courses;
  std::set<size_t> starts;
  for (size_t r : run.ranks) {
    const RankTrace& rank = trace.ranks[r];
    if (rank.controls.empty() || !starts.insert(rank.start).second) continue;
    courses.push_back(CourseOf(trace, rank));
  }
  return courses;
}

std::vector<ControlPoint> Thinned(const std::vector<ControlPoint>& points, size_t count) {
  if (points.size() <= count) return points;
  std::set<size_t> kept = {points.size() - 1};
  for (size_t i = 0; i < points.size() && kept.size() < count; ++i) {
    if (i == 0 || points[i].state != points[i - 1].state) kept.insert(i);
  }
  const size_t free = count - kept.size();
  for (size_t i = 0; i < free; ++i) kept.insert(i * points.size() / std::max<size_t>(free, 1));
  std::vector<ControlPoint> thinned;
  for (size_t i : kept) thinned.push_back(points[i]);
  return thinned;
}

std::string CourseText(const ControlCourse& course) {
  int64_t all_ns = 0;
  for (const auto& [state, ns] : course.state_ns) all_ns += ns;
  std::vector<std::pair<int64_t, std::string>> states;
  for (const auto& [state, ns] : course.state_ns) states.emplace_back(ns, state);
  std::sort(states.rbegin(), states.rend());
  std::vector<std::string> parts;
  for (const auto& [ns, state] : states) {
    const std::string share = FormatShare(ns, all_ns);
    if (ns == 0 || share.empty()) continue;
    parts.push_back(absl::StrCat(Words(state), " ", share, parts.empty() ? " of the time" : ""));
  }
  std::string text = absl::StrJoin(parts, ", ");
  absl::StrAppend(&text, text.empty() ? "" : "; ", "backed off ",
                  course.back_offs == 0 ? "never" : Plural(course.back_offs, "time"));
  return absl::StrCat(text, absl::StrFormat("; lambda %.2f .. %.2f, last %.2f", course.lambda_min,
                                            course.lambda_max, course.points.back().overrun_ratio));
}

std::string ControlText(const std::vector<ControlCourse>& courses) {
  std::string out;
  for (const ControlCourse& course : courses) {
    absl::StrAppend(&out, "\ncontrol on ", course.node, ": ", CourseText(course), "\n");
    Table table({{"AT", Align::kRight},
                 {"STATE"},
                 {"LAMBDA", Align::kRight},
                 {"SLOWDOWN", Align::kRight},
                 {"BUDGET", Align::kRight},
                 {"WHY", Align::kLeft, /*can_shrink=*/true}});
    for (const ControlPoint& point : Thinned(course.points, kRowsShown)) {
      table.AddRow({AtText(course, point), Words(point.state),
                    absl::StrFormat("%.2f", point.overrun_ratio), EstimateText(point),
                    absl::StrFormat("%g %%", point.budget * 100), point.text});
    }
    absl::StrAppend(&out, table.Text());
  }
  return out;
}

std::string ControlSection(const std::vector<ControlCourse>& courses) {
  if (courses.empty()) return "";
  std::string out =
      "<section><h2>Control</h2><p class=\"note\">Lambda is how much overrun per unit time the "
      "latest starts may promise: the agent raises it while filling costs less than the budget "
      "(dashed) and lowers it otherwise. Below: its estimate of the cost with the 95 % interval, "
      "from recent hold-outs. Bands: nothing was filled, because the budget was exceeded (red), "
      "or because somebody paused it.</p>\n";
  for (const ControlCourse& course : courses) {
    absl::StrAppend(&out, "<h3>", EscapeMarkup(course.node), ": ", EscapeMarkup(CourseText(course)),
                    "</h3>\n", CoursePicture(course).Draw(), "\n");
  }
  return absl::StrCat(out, "</section>\n");
}

}  // namespace pipefill
