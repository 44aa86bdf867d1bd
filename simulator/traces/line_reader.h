// Lines of a stream, with their numbers, in bounded memory.
//
// Thread-compatible: used from one thread.
#ifndef SIMULATOR_TRACES_LINE_READER_H_
#define SIMULATOR_TRACES_LINE_READER_H_

#include <cstdint>
#include <istream>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace pipefill::simulator {

inline constexpr size_t kLineBytesMax = size_t{1} << 20;

class LineReader {
 public:
  // Both outlive it; `source` names the stream in errors.
  LineReader(std::istream& in, absl::string_view source);

  // Without its end, "\n" or "\r\n", and without the mark of UTF-8 that may begin a file. Valid
  // until the next call. nullopt at the end, or where a line is beyond kLineBytesMax or holds a
  // zero byte: ask status() then.
  std::optional<absl::string_view> Next();
  // Of the line that Next returned, from 1.
  int64_t number() const { return number_; }
  const absl::Status& status() const { return status_; }

 private:
  // False at the end of the stream.
  bool Fill();
  std::optional<absl::string_view> Take(absl::string_view line);

  std::istream& in_;
  const absl::string_view source_;
  std::vector<char> bytes_;
  size_t begin_ = 0;  // of what is not taken yet
  size_t end_ = 0;
  int64_t number_ = 0;
  absl::Status status_;
};

}  // namespace pipefill::simulator

#endif  // SIMULATOR_TRACES_LINE_READER_H_
