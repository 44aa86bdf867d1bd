#include "cli/report/markup.h"

#include <cmath>

#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/time/time.h"
#include "common/quantity.h"

namespace pipefill {

std::string EscapeMarkup(absl::string_view text) {
  return absl::StrReplaceAll(
      text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}, {"'", "&#39;"}});
}

std::string EscapeScript(absl::string_view json) {
  return absl::StrReplaceAll(json, {{"<", "\\u003c"}});
}

std::string PercentText(std::optional<double> share) {
  if (!share.has_value()) return "-";
  return absl::StrFormat("%.1f %%", *share * 100);
}

std::string ChangeText(double change) { return absl::StrFormat("%+.2f %%", change * 100); }

std::string MillisecondsText(double ns) {
  const double ms = ns / 1e6;
  const int digits = ms >= 1000 ? 0 : ms >= 10 ? 1 : ms >= 1 ? 2 : 3;
  return absl::StrFormat("%.*f ms", digits, ms);
}

std::string DurationText(int64_t ns) { return pipefill::FormatDuration(absl::Nanoseconds(ns)); }

}  // namespace pipefill
