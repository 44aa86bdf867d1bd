#include "cli/report/svg_canvas.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/report/markup.h"
#include "cli/report/palette.h"

namespace pipefill {
namespace {

constexpr double kMargin = 14;
constexpr double kTitleBottom = 32;
constexpr double kLegendLine = 19;
constexpr double kSwatch = 12;

constexpr char kRules[] =
    ".chart text{font-family:-apple-system,'Segoe UI','DejaVu Sans',Arial,sans-serif;"
    "font-size:11.5px}\n"
    ".chart .title{font-size:14px;font-weight:600}\n"
    ".chart line{shape-rendering:crispEdges}\n"
    ".chart .curve{fill:none;stroke-width:2;stroke-linejoin:round}\n"
    ".chart .spot{stroke-width:1.5}\n";

const char* Word(SvgAnchor anchor) {
  switch (anchor) {
    case SvgAnchor::kStart:
      return "start";
    case SvgAnchor::kMiddle:
      return "middle";
    case SvgAnchor::kEnd:
      break;
  }
  return "end";
}

}  // namespace

double TextWidth(absl::string_view text) { return 6.6 * static_cast<double>(text.size()); }

SvgCanvas::SvgCanvas(double width, std::string title) : width_(width), title_(std::move(title)) {}

void SvgCanvas::Close(absl::string_view tag, absl::string_view hover) {
  if (hover.empty()) {
    absl::StrAppend(&body_, "/>\n");
    return;
  }
  absl::StrAppend(&body_, "><title>", EscapeMarkup(hover), "</title></", tag, ">\n");
}

void SvgCanvas::Text(SvgPoint at, SvgAnchor anchor, absl::string_view text) {
  absl::StrAppendFormat(
      &body_, "<text class=\"muted\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", at.x,
      at.y, Word(anchor), EscapeMarkup(text));
}

void SvgCanvas::Line(SvgPoint from, SvgPoint to, absl::string_view colour) {
  absl::StrAppendFormat(
      &body_, "<line class=\"%s-line\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", colour,
      from.x, from.y, to.x, to.y);
}

void SvgCanvas::Box(const SvgBox& box, absl::string_view colour, absl::string_view hover) {
  absl::StrAppendFormat(&body_,
                        "<rect class=\"%s\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"",
                        colour, box.x, box.y, box.width, box.height);
  Close("rect", hover);
}

void SvgCanvas::Dot(SvgPoint at, absl::string_view colour, absl::string_view hover) {
  absl::StrAppendFormat(&body_,
                        "<circle class=\"%s card-line spot\" cx=\"%.2f\" cy=\"%.2f\" r=\"4.5\"",
                        colour, at.x, at.y);
  Close("circle", hover);
}

void SvgCanvas::Curve(const std::vector<SvgPoint>& points, absl::string_view colour,
                      absl::string_view hover) {
  absl::StrAppend(&body_, "<path class=\"curve ", colour, "-line\" d=\"");
  for (size_t i = 0; i < points.size(); ++i) {
    absl::StrAppendFormat(&body_, "%s%.2f %.2f", i == 0 ? "M" : "L", points[i].x, points[i].y);
  }
  absl::StrAppend(&body_, "\"");
  Close("path", hover);
}

double SvgCanvas::Legend(const std::vector<LegendEntry>& entries) {
  double y = kTitleBottom;
  if (entries.empty()) return y;
  double x = kMargin;
  for (const LegendEntry& entry : entries) {
    const double width = kSwatch + 6 + TextWidth(entry.name);
    if (x > kMargin && x + width > width_ - kMargin) {
      x = kMargin;
      y += kLegendLine;
    }
    Box({x, y, kSwatch, kSwatch}, entry.colour, "");
    Text({x + kSwatch + 6, y + 10}, SvgAnchor::kStart, entry.name);
    x += width + 14;
  }
  return y + kLegendLine;
}

std::string SvgCanvas::Finish(double height) {
  std::string out = absl::StrFormat(
      "<svg class=\"chart\" xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
      "viewBox=\"0 0 %.0f %.0f\" role=\"img\">\n",
      width_, height, width_, height);
  absl::StrAppend(&out, "<title>", EscapeMarkup(title_), "</title>\n<style>\n", kRules,
                  SvgColourRules(), "</style>\n");
  absl::StrAppendFormat(&out, "<rect class=\"card\" width=\"%.0f\" height=\"%.0f\"/>\n", width_,
                        height);
  absl::StrAppendFormat(&out, "<text class=\"title ink\" x=\"%.0f\" y=\"21\">", kMargin);
  return absl::StrCat(out, EscapeMarkup(title_), "</text>\n", body_, "</svg>\n");
}

}  // namespace pipefill
