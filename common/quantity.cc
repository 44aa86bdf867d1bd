#include "common/quantity.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "absl/numeric/int128.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"

namespace pipefill {
namespace {

constexpr int kCoreMax = 65'535;

struct Unit {
  const char* name;
  int64_t size;
};

constexpr std::array kByteUnits = {
    Unit{"B", 1},
    Unit{"KiB", int64_t{1} << 10},
    Unit{"MiB", int64_t{1} << 20},
    Unit{"GiB", int64_t{1} << 30},
    Unit{"TiB", int64_t{1} << 40},
    Unit{"PiB", int64_t{1} << 50},
};
constexpr std::array kDecimalByteUnits = {
    Unit{"KB", 1'000},
    Unit{"MB", 1'000'000},
    Unit{"GB", 1'000'000'000},
    Unit{"TB", 1'000'000'000'000},
};
constexpr std::array kTimeUnits = {
    Unit{"ns", 1},
    Unit{"us", 1'000},
    Unit{"ms", 1'000'000},
    Unit{"s", 1'000'000'000},
};

std::optional<int64_t> ByteUnitSize(absl::string_view name) {
  if (name.empty()) return 1;
  for (const Unit& unit : kByteUnits) {
    if (absl::EqualsIgnoreCase(name, unit.name)) return unit.size;
  }
  for (const Unit& unit : kDecimalByteUnits) {
    if (absl::EqualsIgnoreCase(name, unit.name)) return unit.size;
  }
  return std::nullopt;
}

bool IsLetter(char c) { return absl::ascii_isalpha(static_cast<unsigned char>(c)); }

bool IsDigits(absl::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isdigit(static_cast<unsigned char>(c));
  });
}

// `number` times `unit_size`, rounded down; nullopt if `number` is no plain decimal or the result
// does not fit.
std::optional<int64_t> Scale(absl::string_view number, int64_t unit_size) {
  const std::vector<absl::string_view> parts = absl::StrSplit(number, absl::MaxSplits('.', 1));
  uint64_t whole = 0;
  if (!IsDigits(parts[0]) || !absl::SimpleAtoi(parts[0], &whole)) return std::nullopt;
  absl::uint128 size = absl::uint128(whole) * static_cast<uint64_t>(unit_size);
  if (parts.size() == 2) {
    constexpr size_t kFractionDigitsMax = 18;
    uint64_t fraction = 0;
    if (!IsDigits(parts[1]) || parts[1].size() > kFractionDigitsMax) return std::nullopt;
    if (!absl::SimpleAtoi(parts[1], &fraction)) return std::nullopt;
    absl::uint128 scaled = absl::uint128(fraction) * static_cast<uint64_t>(unit_size);
    for (size_t digit = 0; digit < parts[1].size(); ++digit) scaled /= 10;
    size += scaled;
  }
  if (size > absl::uint128(std::numeric_limits<int64_t>::max())) return std::nullopt;
  return static_cast<int64_t>(size);
}

absl::StatusOr<std::pair<int, int>> ParseCoreRange(absl::string_view text) {
  const std::vector<absl::string_view> ends = absl::StrSplit(text, absl::MaxSplits('-', 1));
  int first = 0;
  if (!IsDigits(ends.front()) || !absl::SimpleAtoi(ends.front(), &first) || first > kCoreMax) {
    return absl::InvalidArgumentError(absl::StrCat("not a core: ", ends.front()));
  }
  int last = 0;
  if (!IsDigits(ends.back()) || !absl::SimpleAtoi(ends.back(), &last) || last > kCoreMax) {
    return absl::InvalidArgumentError(absl::StrCat("not a core: ", ends.back()));
  }
  if (last < first) return absl::InvalidArgumentError(absl::StrCat("range runs backwards: ", text));
  return std::pair(first, last);
}

// Three significant digits for values from 1, no trailing zeros: "1.52", "12.3", "210", "1023".
std::string FormatNumber(double value) {
  const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  std::string text = absl::StrFormat("%.*f", decimals, value);
  if (decimals > 0) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  return text;
}

// In the first unit in which it stays below the next one's size, as rounded: 1023.6 MiB is 1 GiB.
template <size_t kCount>
std::string FormatWithUnit(double value, const std::array<Unit, kCount>& units) {
  size_t index = 0;
  while (index + 1 < kCount) {
    const int64_t next_ratio = units[index + 1].size / units[index].size;
    const double share = value / static_cast<double>(units[index].size);
    if (std::round(share) < static_cast<double>(next_ratio)) break;
    ++index;
  }
  const double share = value / static_cast<double>(units[index].size);
  return absl::StrCat(FormatNumber(share), " ", units[index].name);
}

}  // namespace

absl::StatusOr<int64_t> ParseBytes(absl::string_view text) {
  const absl::string_view trimmed = absl::StripAsciiWhitespace(text);
  const auto is_number_part = [](char c) {
    return c == '.' || absl::ascii_isdigit(static_cast<unsigned char>(c));
  };
  const auto number_end = std::find_if_not(trimmed.begin(), trimmed.end(), is_number_part);
  const size_t number_size = static_cast<size_t>(number_end - trimmed.begin());
  const std::optional<int64_t> unit_size =
      ByteUnitSize(absl::StripLeadingAsciiWhitespace(trimmed.substr(number_size)));
  const std::optional<int64_t> bytes =
      unit_size.has_value() ? Scale(trimmed.substr(0, number_size), *unit_size) : std::nullopt;
  if (bytes.has_value()) return *bytes;
  return absl::InvalidArgumentError(
      absl::StrCat("not a size: \"", text, "\"; write for example 512MiB, 8GiB or 100000 (bytes)"));
}

absl::StatusOr<absl::Duration> ParsePositiveDuration(absl::string_view text) {
  // "1.5 s", as printed here, is taken too.
  std::string compact(absl::StripAsciiWhitespace(text));
  const size_t space = compact.find(' ');
  if (space != std::string::npos && IsLetter(compact[space + 1])) compact.erase(space, 1);
  absl::Duration duration;
  const bool is_duration = absl::ParseDuration(compact, &duration);
  if (is_duration && duration >= absl::ZeroDuration() && duration < absl::InfiniteDuration()) {
    return duration;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("not a duration: \"", text, "\"; write for example 50ms, 1.5s or 1m30s"));
}

absl::StatusOr<std::vector<int>> ParseCores(absl::string_view text) {
  std::set<int> cores;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const absl::StatusOr<std::pair<int, int>> range =
        ParseCoreRange(absl::StripAsciiWhitespace(part));
    if (!range.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("not a list of cores: \"", text,
                                                     "\": ", range.status().message(),
                                                     "; write for example 0-3,8"));
    }
    for (int core = range->first; core <= range->second; ++core) {
      if (cores.insert(core).second) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("not a list of cores: \"", text, "\": core ", core, " is named twice"));
    }
  }
  return std::vector<int>(cores.begin(), cores.end());
}

std::string FormatBytes(int64_t bytes) {
  if (bytes == 0) return "0 B";
  const double size = std::abs(static_cast<double>(bytes));
  return absl::StrCat(bytes < 0 ? "-" : "", FormatWithUnit(size, kByteUnits));
}

std::string FormatDuration(absl::Duration duration) {
  if (duration < absl::ZeroDuration())
    return absl::StrCat("-", pipefill::FormatDuration(-duration));
  if (duration == absl::InfiniteDuration()) return "inf";
  const double ns = absl::ToDoubleNanoseconds(duration);
  if (ns < 0.5) return "0 s";
  if (duration < absl::Milliseconds(59'950)) return FormatWithUnit(ns, kTimeUnits);
  const int64_t seconds = absl::ToInt64Seconds(duration + absl::Milliseconds(500));
  if (seconds < 3'600) return absl::StrCat(seconds / 60, "m", seconds % 60, "s");
  const int64_t minutes = (seconds + 30) / 60;
  return absl::StrCat(minutes / 60, "h", minutes % 60, "m");
}

std::string FormatCores(const std::vector<int>& cores) {
  std::string text;
  for (size_t first = 0; first < cores.size();) {
    size_t last = first;
    while (last + 1 < cores.size() && cores[last + 1] == cores[last] + 1) ++last;
    absl::StrAppend(&text, text.empty() ? "" : ",", cores[first]);
    if (last > first) absl::StrAppend(&text, "-", cores[last]);
    first = last + 1;
  }
  return text;
}

}  // namespace pipefill
