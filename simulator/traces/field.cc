#include "simulator/traces/field.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"

namespace pipefill::simulator {
namespace {

constexpr absl::string_view kDateTime = "2017-10-09 07:01:31";

// `count` digits from the front of `text`, which is then without them.
std::optional<int> TakeDigits(absl::string_view& text, size_t count) {
  if (text.size() < count) return std::nullopt;
  int number = 0;
  for (const char c : text.substr(0, count)) {
    if (!absl::ascii_isdigit(static_cast<unsigned char>(c))) return std::nullopt;
    number = number * 10 + (c - '0');
  }
  text.remove_prefix(count);
  return number;
}

bool TakeOneOf(absl::string_view& text, absl::string_view characters) {
  if (text.empty() || !absl::StrContains(characters, text.front())) return false;
  text.remove_prefix(1);
  return true;
}

// Takes "2017-10-09 07:01:31". nullopt also for dates that no calendar has.
std::optional<absl::CivilSecond> TakeDateTime(absl::string_view& text) {
  constexpr absl::string_view kBehind[] = {"-", "-", " T", ":", ":", ""};
  constexpr size_t kDigits[] = {4, 2, 2, 2, 2, 2};
  int parts[6] = {};
  for (size_t i = 0; i < 6; ++i) {
    const std::optional<int> part = TakeDigits(text, kDigits[i]);
    if (!part.has_value()) return std::nullopt;
    parts[i] = *part;
    if (i < 5 && !TakeOneOf(text, kBehind[i])) return std::nullopt;
  }
  const absl::CivilSecond civil(parts[0], parts[1], parts[2], parts[3], parts[4], parts[5]);
  const bool is_as_written = civil.month() == parts[1] && civil.day() == parts[2] &&
                             civil.hour() == parts[3] && civil.minute() == parts[4] &&
                             civil.second() == parts[5];
  return is_as_written ? std::optional<absl::CivilSecond>(civil) : std::nullopt;
}

// Takes ".25"; zero if there is no dot.
absl::Duration TakeFraction(absl::string_view& text) {
  if (!TakeOneOf(text, ".")) return absl::ZeroDuration();
  double fraction = 0;
  double place = 0.1;
  while (!text.empty() && absl::ascii_isdigit(static_cast<unsigned char>(text.front()))) {
    fraction += place * (text.front() - '0');
    place /= 10;
    text.remove_prefix(1);
  }
  return absl::Seconds(fraction);
}

// What stands behind the date: "", "Z", "+08:00", "-0500".
std::optional<absl::TimeZone> ZoneOf(absl::string_view text, absl::TimeZone otherwise) {
  if (text.empty()) return otherwise;
  if (text == "Z") return absl::UTCTimeZone();
  const int sign = text.front() == '-' ? -1 : 1;
  if (!TakeOneOf(text, "+-")) return std::nullopt;
  const std::optional<int> hours = TakeDigits(text, 2);
  TakeOneOf(text, ":");
  const std::optional<int> minutes = text.empty() ? std::optional<int>(0) : TakeDigits(text, 2);
  if (!hours.has_value() || !minutes.has_value() || !text.empty()) return std::nullopt;
  if (*hours > 23 || *minutes > 59) return std::nullopt;
  return absl::FixedTimeZone(sign * (*hours * 3600 + *minutes * 60));
}

// Bytes of the character of UTF-8 that `text` begins with; 0: it begins with none.
size_t CharacterBytes(absl::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  // 0xC0, 0xC1: longer than need be; beyond 0xF4: no such character.
  const size_t size = first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
  if (size == 0 || text.size() < size) return 0;
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  const bool is_too_long = (first == 0xE0 && byte(1) < 0xA0) || (first == 0xF0 && byte(1) < 0x90);
  const bool is_surrogate = first == 0xED && byte(1) >= 0xA0;
  const bool is_too_large = first == 0xF4 && byte(1) >= 0x90;
  return is_too_long || is_surrogate || is_too_large ? 0 : size;
}

}  // namespace

bool IsUtf8(absl::string_view text) {
  while (!text.empty()) {
    uint64_t eight = 0;
    while (text.size() >= sizeof(eight)) {  // most are plain
      std::memcpy(&eight, text.data(), sizeof(eight));
      if ((eight & 0x8080808080808080U) != 0) break;
      text.remove_prefix(sizeof(eight));
    }
    if (text.empty()) return true;
    const size_t size = CharacterBytes(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

bool IsMissing(absl::string_view field) {
  if (field.empty() || field == "-1") return true;
  if (field.size() > 7) return false;
  constexpr absl::string_view kWords[] = {"none", "null", "nan",     "na", "n/a",
                                          "-",    "-1.0", "unknown", "nil"};
  return std::any_of(std::begin(kWords), std::end(kWords),
                     [&](absl::string_view word) { return absl::EqualsIgnoreCase(field, word); });
}

Field<double> ParseNumber(absl::string_view text) {
  if (IsMissing(text)) return {};
  double number = 0;
  if (!absl::SimpleAtod(text, &number) || !(std::abs(number) <= kNumberMax)) {
    return {.state = FieldState::kBroken};
  }
  return {.state = FieldState::kGood, .value = number};
}

Field<absl::Duration> ParseTraceTime(absl::string_view text, absl::TimeZone zone) {
  const bool is_date = text.size() >= kDateTime.size() && text[4] == '-' && text[7] == '-';
  if (!is_date) {
    const Field<double> seconds = ParseNumber(text);
    return {.state = seconds.state, .value = absl::Seconds(seconds.value)};
  }
  const std::optional<absl::CivilSecond> civil = TakeDateTime(text);
  if (!civil.has_value()) return {.state = FieldState::kBroken};
  const absl::Duration fraction = TakeFraction(text);
  const std::optional<absl::TimeZone> its_zone = ZoneOf(text, zone);
  if (!its_zone.has_value()) return {.state = FieldState::kBroken};
  const absl::Time time = absl::FromCivil(*civil, *its_zone);
  return {.state = FieldState::kGood, .value = time - absl::UnixEpoch() + fraction};
}

}  // namespace pipefill::simulator
