#include "cli/output.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/check.h"

namespace pipefill {
namespace {

constexpr absl::string_view kGap = "  ";
constexpr size_t kShrunkMin = 8;

bool IsContinuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

// Characters of UTF-8 text; each counts as one column.
size_t CharacterCount(absl::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char byte) { return !IsContinuation(byte); }));
}

absl::string_view FirstCharacters(absl::string_view text, size_t count) {
  size_t bytes = 0;
  while (bytes < text.size()) {
    if (!IsContinuation(text[bytes]) && count-- == 0) break;
    ++bytes;
  }
  return text.substr(0, bytes);
}

std::string Padded(const std::string& text, size_t width, Align align) {
  const size_t length = CharacterCount(text);
  const std::string blanks(width > length ? width - length : 0, ' ');
  return align == Align::kRight ? blanks + text : text + blanks;
}

// Breaks `text`, which starts at column `begin`, between words into lines that start there too.
std::string Wrapped(const std::string& text, size_t begin) {
  std::string lines;
  size_t column = begin;
  for (const absl::string_view word : absl::StrSplit(text, ' ')) {
    const size_t length = CharacterCount(word);
    if (column > begin && column + 1 + length > kLineWidth) {
      absl::StrAppend(&lines, "\n", std::string(begin, ' '));
      column = begin;
    }
    absl::StrAppend(&lines, column > begin ? " " : "", word);
    column += length + (column > begin ? 1 : 0);
  }
  return lines;
}

bool IsPlainInShell(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         absl::string_view("_@%+=:,./-").find(c) != absl::string_view::npos;
}

std::string ShellWord(const std::string& word) {
  if (!word.empty() && std::all_of(word.begin(), word.end(), IsPlainInShell)) return word;
  std::string quoted = "'";
  for (char c : word) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

}  // namespace

void Table::AddRow(std::vector<std::string> cells) {
  CHECK(cells.size() == columns_.size());
  for (std::string& cell : cells) cell = cell.empty() ? "-" : OneLine(cell);
  rows_.push_back(std::move(cells));
}

std::vector<size_t> Table::Widths(size_t line_width) const {
  std::vector<size_t> widths;
  size_t total = kGap.size() * (columns_.size() - 1);
  for (size_t i = 0; i < columns_.size(); ++i) {
    size_t width = columns_[i].title.size();
    for (const auto& row : rows_) width = std::max(width, CharacterCount(row[i]));
    widths.push_back(width);
    total += width;
  }
  for (; total > line_width; --total) {
    size_t* widest = nullptr;
    for (size_t i = 0; i < columns_.size(); ++i) {
      const size_t min = std::max(kShrunkMin, columns_[i].title.size());
      if (!columns_[i].can_shrink || widths[i] <= min) continue;
      if (widest == nullptr || widths[i] > *widest) widest = &widths[i];
    }
    if (widest == nullptr) break;
    --*widest;
  }
  return widths;
}

std::string Table::Text(size_t width) const {
  const std::vector<size_t> widths = Widths(width);
  std::vector<std::string> titles;
  for (const Column& column : columns_) titles.push_back(column.title);
  std::string text;
  const auto append_line = [&](const std::vector<std::string>& cells) {
    std::vector<std::string> padded;
    for (size_t i = 0; i < cells.size(); ++i) {
      padded.push_back(Padded(Shorten(cells[i], widths[i]), widths[i], columns_[i].align));
    }
    std::string line = absl::StrJoin(padded, kGap);
    line.erase(line.find_last_not_of(' ') + 1);
    absl::StrAppend(&text, line, "\n");
  };
  append_line(titles);
  for (const auto& row : rows_) append_line(row);
  return text;
}

void Facts::Add(std::string name, absl::string_view value) {
  facts_.push_back({std::move(name), OneLine(value), /*is_prose=*/false});
}

void Facts::AddProse(std::string name, absl::string_view value) {
  if (!value.empty()) facts_.push_back({std::move(name), OneLine(value), /*is_prose=*/true});
}

std::string Facts::Text() const {
  size_t width = 0;
  for (const Fact& fact : facts_) width = std::max(width, fact.name.size());
  const size_t begin = width + 2 * kGap.size();  // column of the values
  std::string text;
  for (const Fact& fact : facts_) {
    const std::string value = fact.is_prose ? Wrapped(fact.value, begin) : fact.value;
    absl::StrAppend(&text, kGap, Padded(fact.name, width, Align::kLeft), kGap, value, "\n");
  }
  return text;
}

std::string Shorten(absl::string_view text, size_t width) {
  if (CharacterCount(text) <= width) return std::string(text);
  if (width <= 3) return std::string(FirstCharacters(text, width));
  return absl::StrCat(FirstCharacters(text, width - 3), "...");
}

std::string FitTo(absl::string_view text, size_t width, Align align) {
  return Padded(Shorten(text, width), width, align);
}

std::string OneLine(absl::string_view text) {
  std::string line(text);
  for (char& c : line) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) c = '?';
  }
  return line;
}

std::string ShellText(const std::vector<std::string>& words) {
  std::vector<std::string> quoted;
  quoted.reserve(words.size());
  for (const std::string& word : words) quoted.push_back(ShellWord(word));
  return absl::StrJoin(quoted, " ");
}

std::string FormatSpan(absl::Duration span) {
  const int64_t seconds = std::max<int64_t>(0, absl::ToInt64Seconds(span));
  constexpr int64_t kMinute = 60;
  constexpr int64_t kHour = 60 * kMinute;
  constexpr int64_t kDay = 24 * kHour;
  if (seconds < kMinute) return absl::StrCat(seconds, "s");
  if (seconds < kHour) return absl::StrCat(seconds / kMinute, "m", seconds % kMinute, "s");
  if (seconds < kDay) return absl::StrCat(seconds / kHour, "h", seconds % kHour / kMinute, "m");
  return absl::StrCat(seconds / kDay, "d", seconds % kDay / kHour, "h");
}

std::string FormatAgo(int64_t unix_ns, absl::Time now) {
  if (unix_ns == 0) return "";
  return FormatSpan(now - absl::FromUnixNanos(unix_ns)) + " ago";
}

std::string FormatCount(int64_t count) {
  std::string digits = absl::StrCat(count);
  const size_t first = count < 0 ? 1 : 0;
  for (size_t end = digits.size(); end > first + 3;) {
    end -= 3;
    digits.insert(end, 1, ',');
  }
  return digits;
}

std::string FormatShare(int64_t part, int64_t whole) {
  if (whole <= 0) return "";
  return absl::StrFormat("%.1f %%", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string FormatShortCount(int64_t count) {
  if (count < 10'000) return absl::StrCat(count);
  const bool is_large = count >= 999'500;
  const double value = static_cast<double>(count) / (is_large ? 1e6 : 1e3);
  const int decimals = is_large ? (value < 9.995 ? 2 : value < 99.95 ? 1 : 0) : value < 99.95;
  return absl::StrFormat("%.*f%s", decimals, value, is_large ? "M" : "k");
}

std::string Plural(int64_t count, absl::string_view noun) {
  return absl::StrCat(FormatCount(count), " ", noun, count == 1 ? "" : "s");
}

}  // namespace pipefill
