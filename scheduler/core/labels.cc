#include "scheduler/core/labels.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/status.h"

namespace pipefill::scheduler {
namespace {

constexpr size_t kWordMax = 63;
constexpr size_t kDomainMax = 253;

bool IsAlnum(char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)); }

// 1..63 characters of [A-Za-z0-9._-], the first and the last a letter or digit.
bool IsWord(absl::string_view text) {
  if (text.empty() || text.size() > kWordMax) return false;
  if (!IsAlnum(text.front()) || !IsAlnum(text.back())) return false;
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return IsAlnum(c) || c == '.' || c == '_' || c == '-'; });
}

// A name of the DNS: parts of lower case letters, digits and '-', between dots.
bool IsDomain(absl::string_view text) {
  if (text.empty() || text.size() > kDomainMax) return false;
  for (const absl::string_view part : absl::StrSplit(text, '.')) {
    const bool is_spelled = std::all_of(part.begin(), part.end(), [](char c) {
      return (IsAlnum(c) && !absl::ascii_isupper(static_cast<unsigned char>(c))) || c == '-';
    });
    if (!IsWord(part) || !is_spelled) return false;
  }
  return true;
}

absl::Status CheckKey(absl::string_view key) {
  const size_t slash = key.find('/');
  const bool has_domain = slash != absl::string_view::npos;
  const absl::string_view word = has_domain ? key.substr(slash + 1) : key;
  if (IsWord(word) && (!has_domain || IsDomain(key.substr(0, slash)))) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("\"", key, "\" is no key of a label: 1..63 characters of [A-Za-z0-9._-] that ",
                   "begin and end with a letter or digit, as team or example.com/team"));
}

absl::Status CheckValue(absl::string_view value) {
  if (value.empty() || IsWord(value)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("\"", value, "\" is no value of a label: at most 63 characters of ",
                   "[A-Za-z0-9._-] that begin and end with a letter or digit"));
}

}  // namespace

absl::Status CheckLabels(const Labels& labels) {
  if (labels.size() > kLabelsMax) {
    return absl::InvalidArgumentError(absl::StrCat(labels.size(), " labels, at most ", kLabelsMax));
  }
  for (const auto& [key, value] : labels) {
    RETURN_IF_ERROR(CheckKey(key));
    RETURN_IF_ERROR(WithContext(CheckValue(value), key));
  }
  return absl::OkStatus();
}

absl::StatusOr<Selector::Requirement> Selector::ParseRequirement(absl::string_view text) {
  Requirement requirement;
  absl::string_view key = text;
  absl::string_view value;
  if (const size_t equals = text.find('='); equals != absl::string_view::npos) {
    key = text.substr(0, equals);
    value = text.substr(equals + 1);
    requirement.kind = Kind::kEquals;
    if (absl::ConsumeSuffix(&key, "!")) {
      requirement.kind = Kind::kDiffers;
    } else {
      absl::ConsumePrefix(&value, "=");
    }
  } else if (absl::ConsumePrefix(&key, "!")) {
    requirement.kind = Kind::kAbsent;
  }
  requirement.key = std::string(absl::StripAsciiWhitespace(key));
  requirement.value = std::string(absl::StripAsciiWhitespace(value));
  RETURN_IF_ERROR(CheckKey(requirement.key));
  RETURN_IF_ERROR(CheckValue(requirement.value));
  return requirement;
}

absl::StatusOr<Selector> Selector::Parse(absl::string_view text) {
  if (text.size() > kSelectorBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat(text.size(), " bytes of selector, at most ", kSelectorBytesMax));
  }
  Selector selector;
  if (absl::StripAsciiWhitespace(text).empty()) return selector;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const absl::string_view trimmed = absl::StripAsciiWhitespace(part);
    absl::StatusOr<Requirement> requirement = ParseRequirement(trimmed);
    if (!requirement.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("\"", trimmed,
                                                     "\": ", requirement.status().message(),
                                                     "; write KEY=VALUE, KEY!=VALUE, KEY or !KEY"));
    }
    selector.requirements_.push_back(*std::move(requirement));
  }
  return selector;
}

bool Selector::Takes(const Labels& labels) const {
  return std::all_of(requirements_.begin(), requirements_.end(), [&](const Requirement& need) {
    const auto label = labels.find(need.key);
    const bool is_there = label != labels.end();
    switch (need.kind) {
      case Kind::kEquals:
        return is_there && label->second == need.value;
      case Kind::kDiffers:
        return !is_there || label->second != need.value;
      case Kind::kExists:
        return is_there;
      case Kind::kAbsent:
        return !is_there;
    }
    return false;
  });
}

}  // namespace pipefill::scheduler
