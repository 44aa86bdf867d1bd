// Text for people: tables that fit a terminal, and numbers, times and shares in words.
//
// Pure.
#ifndef CLI_OUTPUT_H_
#define CLI_OUTPUT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace pipefill {

// Columns of a terminal that all tables fit into where their content allows.
inline constexpr size_t kLineWidth = 80;

enum class Align { kLeft, kRight };

struct Column {
  std::string title;
  Align align = Align::kLeft;
  // Gives way, down to its title or eight characters, when the line gets too long; what is cut
  // off shows as "...".
  bool can_shrink = false;
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // REQUIRES: one cell per column. An empty cell shows as "-".
  void AddRow(std::vector<std::string> cells);
  bool is_empty() const { return rows_.empty(); }
  // Title line and rows, each ended by a newline, without blanks at their ends. Columns that can
  // give way do so from `width` on.
  std::string Text(size_t width = kLineWidth) const;

 private:
  std::vector<size_t> Widths(size_t width) const;

  const std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// Names and values under each other: "  state      running\n".
class Facts {
 public:
  void Add(std::string name, absl::string_view value);
  // Leaves out an empty value, and breaks a long one into lines of kLineWidth.
  void AddProse(std::string name, absl::string_view value);
  std::string Text() const;

 private:
  struct Fact {
    std::string name;
    std::string value;
    bool is_prose;
  };

  std::vector<Fact> facts_;
};

// At most `width` characters, the last three "..." if something was cut off. Characters, not bytes.
std::string Shorten(absl::string_view text, size_t width);
// Exactly `width` characters: shortened, or filled up with blanks.
std::string FitTo(absl::string_view text, size_t width, Align align = Align::kLeft);
// With control characters as '?': text of others cannot move the cursor.
std::string OneLine(absl::string_view text);
// As a shell would need it: `python3 -c 'print(1)'`.
std::string ShellText(const std::vector<std::string>& words);

// "0s", "12s", "3m12s", "2h5m", "4d3h"; negative spans, of clocks that differ, as "0s".
std::string FormatSpan(absl::Duration span);
// "3m12s ago"; "" if `unix_ns` is 0, which means never.
std::string FormatAgo(int64_t unix_ns, absl::Time now);
// "1,234,567".
std::string FormatCount(int64_t count);
// "98.2 %" of `whole`; "" if that is not positive.
std::string FormatShare(int64_t part, int64_t whole);
// "812", "12.3k", "1.23M": at most five characters below a billion.
std::string FormatShortCount(int64_t count);
// "1 job", "2 jobs".
std::string Plural(int64_t count, absl::string_view noun);

}  // namespace pipefill

#endif  // CLI_OUTPUT_H_
