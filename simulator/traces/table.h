// A table in a file of text: rows of fields, columns with names.
//
// Pure but for the stream that it reads.
#ifndef SIMULATOR_TRACES_TABLE_H_
#define SIMULATOR_TRACES_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <istream>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "simulator/traces/line_reader.h"

namespace pipefill::simulator {

struct TableLayout {
  // Between fields; ' ' = any number of blanks and tabs; 0 = the one of , ; | and tab that the
  // titles have most of.
  char separator = ',';
  // Lines that begin with it are left out; 0 = none.
  char comment = 0;
  // Of the columns, where the file has no line of titles. Empty: it must have one.
  std::vector<std::string> names = {};
};

class Table {
 public:
  // Reads up to the titles. InvalidArgument: an empty file, no text, or another number of columns
  // than `layout` has names. All arguments outlive it.
  static absl::StatusOr<std::unique_ptr<Table>> Open(std::istream& in, const std::string& source,
                                                     const TableLayout& layout);
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  const std::vector<std::string>& names() const { return names_; }
  // Of the column of this name; InvalidArgument that lists those that there are.
  absl::StatusOr<size_t> Column(absl::string_view name) const;

  // False at the end, or where the file is no text: status() says so. Blank lines are left out.
  bool Next();
  // Of the row, without blanks around and quotes; valid until the next call. Empty if the row has
  // fewer.
  absl::string_view field(size_t column) const {
    return column < fields_.size() ? fields_[column] : absl::string_view();
  }
  // Fewer fields than columns, or more, an empty one at the end aside; a quote without its second;
  // or bytes that are not UTF-8.
  bool is_broken() const { return is_broken_; }
  int64_t line() const { return lines_.number(); }
  const absl::Status& status() const { return lines_.status(); }

 private:
  Table(std::istream& in, const std::string& source, const TableLayout& layout);

  absl::Status ReadTitles();
  bool NextLine(absl::string_view* line);
  bool HasAllFields() const;
  void Split(absl::string_view line);
  void SplitQuoted(absl::string_view line);

  const std::string& source_;
  const TableLayout& layout_;
  LineReader lines_;
  char separator_;
  std::vector<std::string> names_;
  std::vector<absl::string_view> fields_;
  std::string unquoted_;  // what fields_ may point to
  bool is_broken_ = false;
  bool is_first_row_read_ = false;  // a file without titles begins with a row
};

}  // namespace pipefill::simulator

#endif  // SIMULATOR_TRACES_TABLE_H_
