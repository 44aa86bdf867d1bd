#include "simulator/traces/table.h"

#include <algorithm>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "simulator/traces/field.h"

namespace pipefill::simulator {
namespace {

constexpr size_t kNamesToldMax = 30;

char SeparatorOf(absl::string_view titles) {
  char most = ',';
  for (const char candidate : {';', '|', '\t'}) {
    if (std::count(titles.begin(), titles.end(), candidate) >
        std::count(titles.begin(), titles.end(), most)) {
      most = candidate;
    }
  }
  return most;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Table>> Table::Open(std::istream& in, const std::string& source,
                                                   const TableLayout& layout) {
  auto table = std::unique_ptr<Table>(new Table(in, source, layout));
  if (absl::Status status = table->ReadTitles(); !status.ok()) return status;
  return table;
}

Table::Table(std::istream& in, const std::string& source, const TableLayout& layout)
    : source_(source), layout_(layout), lines_(in, source_), separator_(layout.separator) {}

absl::Status Table::ReadTitles() {
  absl::string_view line;
  if (!NextLine(&line)) {
    if (!status().ok()) return status();
    return absl::InvalidArgumentError(
        absl::StrCat(source_, ": the file has no rows; give the trace itself"));
  }
  if (separator_ == 0) separator_ = SeparatorOf(line);
  Split(line);
  const bool has_titles =
      layout_.names.empty() || absl::EqualsIgnoreCase(field(0), layout_.names.front());
  if (has_titles) {
    for (const absl::string_view name : fields_) names_.emplace_back(name);
    return absl::OkStatus();
  }
  names_ = layout_.names;
  is_first_row_read_ = true;
  if (HasAllFields()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      source_, ":", lines_.number(), ": ", fields_.size(), " columns where there are ",
      names_.size(), " (", absl::StrJoin(names_, ", "), "); give that table, or a line of titles"));
}

absl::StatusOr<size_t> Table::Column(absl::string_view name) const {
  const auto found = std::find_if(names_.begin(), names_.end(), [&](const std::string& one) {
    return absl::EqualsIgnoreCase(one, name);
  });
  if (found != names_.end()) return static_cast<size_t>(found - names_.begin());
  std::vector<std::string> told(
      names_.begin(),
      names_.begin() + static_cast<std::ptrdiff_t>(std::min(names_.size(), kNamesToldMax)));
  if (names_.size() > kNamesToldMax) told.push_back("...");
  return absl::InvalidArgumentError(absl::StrCat(source_, ": there is no column \"", name,
                                                 "\", only ", absl::StrJoin(told, ", ")));
}

bool Table::NextLine(absl::string_view* line) {
  while (const std::optional<absl::string_view> next = lines_.Next()) {
    *line = absl::StripAsciiWhitespace(*next);
    const bool is_comment = layout_.comment != 0 && !line->empty() && (*line)[0] == layout_.comment;
    if (line->empty() || is_comment) continue;
    *line = *next;
    return true;
  }
  return false;
}

bool Table::Next() {
  if (is_first_row_read_) {
    is_first_row_read_ = false;
    return true;
  }
  absl::string_view line;
  if (!NextLine(&line)) return false;
  Split(line);
  is_broken_ = is_broken_ || !HasAllFields();
  return true;
}

bool Table::HasAllFields() const {
  if (fields_.size() == names_.size()) return true;
  // A separator may end each row.
  return fields_.size() == names_.size() + 1 && fields_.back().empty();
}

void Table::Split(absl::string_view line) {
  fields_.clear();
  is_broken_ = !IsUtf8(line);
  if (separator_ == ' ') {
    while (true) {
      line = absl::StripLeadingAsciiWhitespace(line);
      if (line.empty()) return;
      const size_t end = std::min(line.find_first_of(" \t\v\f\r"), line.size());
      fields_.push_back(line.substr(0, end));
      line.remove_prefix(end);
    }
  }
  if (absl::StrContains(line, '"')) return SplitQuoted(line);
  while (true) {
    const size_t end = line.find(separator_);
    fields_.push_back(absl::StripAsciiWhitespace(line.substr(0, end)));
    if (end == absl::string_view::npos) return;
    line.remove_prefix(end + 1);
  }
}

void Table::SplitQuoted(absl::string_view line) {
  unquoted_.clear();
  unquoted_.reserve(line.size());  // what is in it stays where it is
  bool is_quoted = false;
  size_t begin = 0;
  const auto end_field = [&] {
    fields_.push_back(absl::StripAsciiWhitespace(absl::string_view(unquoted_).substr(begin)));
    begin = unquoted_.size();
  };
  for (size_t i = 0; i < line.size(); ++i) {
    const bool is_doubled = is_quoted && line.substr(i, 2) == "\"\"";
    if (line[i] == '"' && !is_doubled) {
      is_quoted = !is_quoted;
    } else if (line[i] == separator_ && !is_quoted) {
      end_field();
    } else {
      unquoted_.push_back(line[i]);
      if (is_doubled) ++i;
    }
  }
  end_field();
  is_broken_ = is_broken_ || is_quoted;
}

}  // namespace pipefill::simulator
