// A screenful of text, before any terminal is involved: lines of spans, each with a style. Without
// a terminal the same frame is plain text.
//
// Pure.
#ifndef CLI_TOP_FRAME_H_
#define CLI_TOP_FRAME_H_

#include <string>
#include <vector>

namespace pipefill {

enum class Style {
  kPlain,
  kTitle,
  kDim,
  kGood,
  kWarn,
  kBad,
  kSelected,
  // Parts of a bar; their characters tell them apart where there are no colours.
  kWork,
  kFilled,
  kOverrun,
  kIdle,
};

struct Span {
  std::string text;  // one line of UTF-8 without control characters
  Style style = Style::kPlain;
};

using Line = std::vector<Span>;

struct Frame {
  std::vector<Line> lines;
};

inline std::string PlainText(const Frame& frame) {
  std::string text;
  for (const Line& line : frame.lines) {
    std::string plain;
    for (const Span& span : line) plain += span.text;
    plain.erase(plain.find_last_not_of(' ') + 1);
    text += plain + "\n";
  }
  return text;
}

}  // namespace pipefill

#endif  // CLI_TOP_FRAME_H_
