// One SVG picture as it is drawn: shapes and words in the colours of the report, light and dark.
// It stands by itself, in a page or as a file.
//
// Thread-compatible.
#ifndef CLI_REPORT_SVG_CANVAS_H_
#define CLI_REPORT_SVG_CANVAS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace pipefill {

struct SvgPoint {
  double x = 0;
  double y = 0;
};

struct SvgBox {
  double x = 0;
  double y = 0;
  double width = 0;
  double height = 0;
};

struct LegendEntry {
  std::string colour;  // of palette.h
  std::string name;
};

enum class SvgAnchor { kStart, kMiddle, kEnd };

// About as wide as `text` is drawn, in pixels.
double TextWidth(absl::string_view text);

// Colours are names of palette.h. `hover` is what the pointer shows, unless empty. All text is
// escaped.
class SvgCanvas {
 public:
  SvgCanvas(double width, std::string title);

  double width() const { return width_; }

  void Text(SvgPoint at, SvgAnchor anchor, absl::string_view text);
  void Line(SvgPoint from, SvgPoint to, absl::string_view colour);
  void Box(const SvgBox& box, absl::string_view colour, absl::string_view hover);
  void Dot(SvgPoint at, absl::string_view colour, absl::string_view hover);
  void Curve(const std::vector<SvgPoint>& points, absl::string_view colour,
             absl::string_view hover);
  // Under the title, in as many lines as it takes; returns where the next thing may begin.
  double Legend(const std::vector<LegendEntry>& entries);
  // REQUIRES: called once, last.
  std::string Finish(double height);

 private:
  void Close(absl::string_view tag, absl::string_view hover);

  const double width_;
  const std::string title_;
  std::string body_;
};

}  // namespace pipefill

#endif  // CLI_REPORT_SVG_CANVAS_H_
