#include "cli/share.h"

#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace pipefill {
namespace {

constexpr double kPpm = 1e6;

}  // namespace

absl::StatusOr<uint32_t> ParsePpm(absl::string_view what, absl::string_view text) {
  absl::string_view number = text;
  const bool is_percent = absl::ConsumeSuffix(&number, "%");
  double value = 0;
  const bool is_number =
      absl::SimpleAtod(absl::StripAsciiWhitespace(number), &value) && std::isfinite(value);
  if (!is_number) {
    return absl::InvalidArgumentError(
        absl::StrCat("not a ", what, ": ", text, "; write a share, as 0.5% or 0.005"));
  }
  const double ppm = std::round(value * (is_percent ? kPpm / 100 : kPpm));
  if (!(ppm >= 1 && ppm <= kPpm)) {
    return absl::InvalidArgumentError(absl::StrCat(what, " out of range: ", text,
                                                   is_percent ? "" : ", which is a share of 1",
                                                   "; write more than 0 and at most 100%"));
  }
  return static_cast<uint32_t>(ppm);
}

std::string FormatPpm(uint32_t ppm) { return absl::StrCat(ppm / 1e4, " %"); }

}  // namespace pipefill
