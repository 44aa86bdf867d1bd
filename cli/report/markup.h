// Text inside HTML, SVG and scripts, where names come from users; and numbers as the report writes
// them.
//
// Pure.
#ifndef CLI_REPORT_MARKUP_H_
#define CLI_REPORT_MARKUP_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace pipefill {

// For text and for attribute values in double quotes.
std::string EscapeMarkup(absl::string_view text);
// JSON text that may stand inside <script>: no "<" is left in it.
std::string EscapeScript(absl::string_view json);

// "31.2 %"; "-" without a value.
std::string PercentText(std::optional<double> share);
// "+0.42 %", "-0.10 %".
std::string ChangeText(double change);
// "112.3 ms", with digits as the size needs.
std::string MillisecondsText(double ns);
// "1.52 s", "12.3 ms": three digits.
std::string DurationText(int64_t ns);

}  // namespace pipefill

#endif  // CLI_REPORT_MARKUP_H_
