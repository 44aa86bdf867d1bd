// The colours of the page and of the picture, for light and dark schemes, in one table.
//
// Pure.
#ifndef CLI_REPORT_PALETTE_H_
#define CLI_REPORT_PALETTE_H_

#include <cstddef>
#include <string>

namespace pipefill {

// Jobs beyond this many share colours, in turn.
inline constexpr size_t kJobColours = 8;

// CSS custom properties `--name: colour` on :root, both schemes.
std::string ThemeVariables();
// Rules `.name { fill: colour }` and `.name-line { stroke: colour }` with plain colours, both
// schemes: many programs that show SVG know no custom properties.
std::string SvgColourRules();
// "job0" .. "job7".
std::string JobColour(size_t job);

}  // namespace pipefill

#endif  // CLI_REPORT_PALETTE_H_
