#include "cli/report/timeline_svg.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/report/markup.h"
#include "cli/report/palette.h"

namespace pipefill {
namespace {

constexpr int kLeft = 96;
constexpr int kRight = 20;
constexpr int kTitleHeight = 34;
constexpr int kLegendHeight = 26;
constexpr int kHeadHeight = 22;
constexpr int kAxisHeight = 34;
// Units leave so much of their row free, above and below.
constexpr int kUnitInsetShare = 7;

constexpr absl::string_view kShapeEnd = "/>\n";

constexpr char kRules[] =
    "text{font-family:-apple-system,'Segoe UI','DejaVu Sans',Arial,sans-serif;font-size:12.5px}\n"
    ".title{font-size:15px;font-weight:600}\n"
    ".small{font-size:11.5px}\n"
    "line{shape-rendering:crispEdges}\n";

class Picture {
 public:
  Picture(const Timeline& timeline, const SvgOptions& options)
      : timeline_(timeline), options_(options) {
    devices_ = std::min(timeline.devices.size(), options.devices_max);
    begin_ns_ = timeline.begin_ns();
    span_ns_ = std::max<double>(static_cast<double>(timeline.end_ns() - begin_ns_), 1);
    bottom_ = Top(devices_) - options_.row_gap + 6;
  }

  std::string Draw() {
    const int height = bottom_ + kAxisHeight + (devices_ < timeline_.devices.size() ? 16 : 0);
    absl::StrAppend(&out_, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"", options_.width,
                    "\" height=\"", height, "\" viewBox=\"0 0 ", options_.width, " ", height,
                    "\" role=\"img\">\n<title>", EscapeMarkup(options_.title),
                    "</title>\n<style>\n", kRules, SvgColourRules(), "</style>\n");
    absl::StrAppend(&out_, "<defs><pattern id=\"", options_.hatch_id,
                    "\" width=\"6\" height=\"6\" "
                    "patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">"
                    "<rect class=\"bubble\" width=\"6\" height=\"6\"/>"
                    "<line class=\"hatch-line\" x1=\"0\" y1=\"0\" x2=\"0\" y2=\"6\" "
                    "stroke-width=\"2.4\"/></pattern></defs>\n");
    absl::StrAppend(&out_, "<rect class=\"card\" width=\"", options_.width, "\" height=\"", height,
                    "\"/>\n<text class=\"title ink\" x=\"16\" y=\"23\">",
                    EscapeMarkup(options_.title), "</text>\n");
    DrawLegend();
    for (size_t d = 0; d < devices_; ++d) DrawIterations(d);
    DrawAxis();
    for (size_t d = 0; d < devices_; ++d) DrawDevice(d);
    if (devices_ < timeline_.devices.size()) {
      Text(16, height - 8, "small muted",
           absl::StrCat(timeline_.devices.size() - devices_, " more devices are not shown"));
    }
    absl::StrAppend(&out_, "</svg>\n");
    return std::move(out_);
  }

 private:
  int Top(size_t device) const {
    return kTitleHeight + kLegendHeight + kHeadHeight +
           static_cast<int>(device) * (options_.row_height + options_.row_gap);
  }

  int unit_inset() const { return options_.row_height / kUnitInsetShare + 1; }

  std::string Hatching() const { return absl::StrCat("fill=\"url(#", options_.hatch_id, ")\""); }

  double X(int64_t ns) const {
    const double part = static_cast<double>(ns - begin_ns_) / span_ns_;
    return kLeft + std::clamp(part, 0.0, 1.0) * (options_.width - kLeft - kRight);
  }

  void Rect(const std::string& fill, double x, double width, int y, int height) {
    absl::StrAppendFormat(&out_, "<rect %s x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\"%s",
                          fill, x, y, width, height, kShapeEnd);
  }

  // What the pointer shows on the shape that was drawn last.
  void Hover(const std::string& name, int64_t length_ns) {
    out_.resize(out_.size() - kShapeEnd.size());
    absl::StrAppend(&out_, "><title>", EscapeMarkup(name), ", ", DurationText(length_ns),
                    "</title></rect>\n");
  }

  void Text(double x, double y, const std::string& classes, const std::string& text) {
    absl::StrAppendFormat(&out_, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">%s</text>\n", classes, x,
                          y, EscapeMarkup(text));
  }

  // A swatch and its word; returns where the next one goes.
  double Legend(double x, const std::string& fill, const std::string& text) {
    const int y = kTitleHeight + 5;
    Rect(fill, x, 16, y, 12);
    Text(x + 21, y + 10.5, "small muted", text);
    return x + 21 + 6.4 * static_cast<double>(text.size()) + 18;
  }

  void DrawLegend() {
    std::set<ChunkKind> kinds;
    std::set<size_t> jobs;
    bool has_overrun = false;
    bool has_hold_out = false;
    for (size_t d = 0; d < devices_; ++d) {
      for (const TimelineWork& work : timeline_.devices[d].work) kinds.insert(work.kind);
      for (const TimelineIteration& iteration : timeline_.devices[d].iterations) {
        has_hold_out |= iteration.is_held_out;
      }
      for (const TimelineUnit& unit : timeline_.devices[d].units) {
        jobs.insert(unit.job);
        has_overrun |= unit.overrun_ns > 0;
      }
    }
    double x = 16;
    if (kinds.contains(ChunkKind::kForward))
      x = Legend(x, "class=\"forward\"", "main job: forward");
    if (kinds.contains(ChunkKind::kBackward)) x = Legend(x, "class=\"backward\"", "backward");
    if (kinds.contains(ChunkKind::kOptimizer)) x = Legend(x, "class=\"optimizer\"", "optimizer");
    if (kinds.contains(ChunkKind::kOther)) x = Legend(x, "class=\"other\"", options_.other_work);
    x = Legend(x, Hatching(), "bubble");
    for (size_t job : jobs) {
      x = Legend(x, absl::StrCat("class=\"", JobColour(job), "\""),
                 absl::StrCat("fill job ", timeline_.jobs[job].name));
    }
    if (has_overrun) x = Legend(x, "class=\"overrun\"", "overrun");
    if (has_hold_out) Legend(x, "class=\"holdout\"", "hold-out iteration");
  }

  // Bands of hold-outs and borders of iterations: of each device in its row, as stages are out of
  // step; numbers above the first.
  void DrawIterations(size_t d) {
    for (const TimelineIteration& iteration : timeline_.devices[d].iterations) {
      const double x = X(iteration.begin_ns);
      const double width = X(iteration.end_ns) - x;
      const int top = d == 0 ? Top(0) - kHeadHeight : Top(d) - options_.row_gap / 2;
      const int bottom =
          d + 1 == devices_ ? bottom_ : Top(d) + options_.row_height + options_.row_gap / 2;
      if (iteration.is_held_out) Rect("class=\"holdout\"", x, width, top, bottom - top);
      absl::StrAppendFormat(
          &out_, "<line class=\"muted-line\" x1=\"%.2f\" y1=\"%d\" x2=\"%.2f\" y2=\"%d\"/>\n", x,
          top, x, bottom);
      if (d > 0) continue;
      Text(x + 5, top + 14, iteration.is_held_out ? "small holdink" : "small muted",
           absl::StrCat("iteration ", iteration.number,
                        iteration.is_held_out ? " - hold-out: nothing filled" : ""));
    }
  }

  void DrawDevice(size_t d) {
    const TimelineDevice& device = timeline_.devices[d];
    const int top = Top(d);
    const int middle = top + options_.row_height / 2;
    Text(16, options_.shows_stages ? middle - 3 : middle + 4, "ink", device.name);
    if (options_.shows_stages) {
      Text(16, middle + 13, "small muted", absl::StrCat("stage ", device.stage));
    }
    for (const TimelineBubble& bubble : device.bubbles) {
      const double x = X(bubble.begin_ns);
      Rect(Hatching(), x, X(bubble.end_ns) - x, top, options_.row_height);
      if (!options_.shows_lengths) continue;
      Hover(absl::StrCat("bubble ", timeline_.bubble_names[bubble.name]),
            bubble.end_ns - bubble.begin_ns);
    }
    for (const TimelineWork& work : device.work) {
      const double x = X(work.begin_ns);
      Rect(absl::StrCat("class=\"", WorkClass(work.kind), "\""), x,
           std::max(X(work.end_ns) - x - 0.4, 0.3), top, options_.row_height);
    }
    for (const TimelineUnit& unit : device.units) DrawUnit(unit, top);
  }

  void DrawUnit(const TimelineUnit& unit, int top) {
    const double x = X(unit.begin_ns);
    const double width = X(unit.inside_end_ns) - x;
    const double gap = width > 2.5 ? 0.6 : 0;
    Rect(absl::StrCat("class=\"", JobColour(unit.job), "\""), x, std::max(width - gap, 0.4),
         top + unit_inset(), options_.row_height - 2 * unit_inset());
    if (options_.shows_lengths) {
      Hover(absl::StrCat("fill job ", timeline_.jobs[unit.job].name),
            unit.inside_end_ns - unit.begin_ns);
    }
    if (unit.overrun_ns <= 0) return;
    const double end = X(unit.inside_end_ns + unit.overrun_ns);
    Rect("class=\"overrun\"", X(unit.inside_end_ns), std::max(end - X(unit.inside_end_ns), 1.2),
         top + unit_inset(), options_.row_height - 2 * unit_inset());
  }

  static const char* WorkClass(ChunkKind kind) {
    switch (kind) {
      case ChunkKind::kForward:
        return "forward";
      case ChunkKind::kBackward:
        return "backward";
      case ChunkKind::kOptimizer:
        return "optimizer";
      case ChunkKind::kOther:
        return "other";
    }
    return "other";
  }

  void DrawAxis() {
    // A step of 1, 2 or 5 times a power of ten, at most about ten ticks.
    const double raw_ns = span_ns_ / 10;
    const double power = std::pow(10, std::floor(std::log10(raw_ns)));
    const double factor = raw_ns / power <= 1   ? 1
                          : raw_ns / power <= 2 ? 2
                          : raw_ns / power <= 5 ? 5
                                                : 10;
    const double step_ns = power * factor;
    for (int i = 0; i * step_ns <= span_ns_ && i < 100; ++i) {
      const double x = X(begin_ns_ + static_cast<int64_t>(i * step_ns));
      absl::StrAppendFormat(
          &out_, "<line class=\"muted-line\" x1=\"%.2f\" y1=\"%d\" x2=\"%.2f\" y2=\"%d\"/>\n", x,
          bottom_, x, bottom_ + 5);
      Text(x - 4, bottom_ + 20, "small muted",
           absl::StrFormat(i == 0 ? "%.4g ms" : "%.4g", i * step_ns / 1e6));
    }
  }

  const Timeline& timeline_;
  const SvgOptions& options_;
  size_t devices_ = 0;
  int64_t begin_ns_ = 0;
  double span_ns_ = 1;
  int bottom_ = 0;
  std::string out_;
};

}  // namespace

std::string TimelineSvg(const Timeline& timeline, const SvgOptions& options) {
  return Picture(timeline, options).Draw();
}

}  // namespace pipefill
