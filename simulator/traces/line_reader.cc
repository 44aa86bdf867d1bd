#include "simulator/traces/line_reader.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace pipefill::simulator {
namespace {

constexpr size_t kPieceBytes = size_t{1} << 18;

}  // namespace

LineReader::LineReader(std::istream& in, absl::string_view source)
    : in_(in), source_(source), bytes_(kPieceBytes) {}

bool LineReader::Fill() {
  std::memmove(bytes_.data(), bytes_.data() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  if (end_ + kPieceBytes > bytes_.size()) bytes_.resize(end_ + kPieceBytes);
  const std::streamsize count = in_.rdbuf()->sgetn(bytes_.data() + end_, kPieceBytes);
  end_ += static_cast<size_t>(count);
  return count > 0;
}

std::optional<absl::string_view> LineReader::Next() {
  if (!status_.ok()) return std::nullopt;
  size_t searched = 0;
  while (true) {
    const char* from = bytes_.data() + begin_;
    const size_t left = end_ - begin_;
    const void* found =
        left > searched ? std::memchr(from + searched, '\n', left - searched) : nullptr;
    if (found != nullptr) {
      const size_t size = static_cast<size_t>(static_cast<const char*>(found) - from);
      begin_ += size + 1;
      return Take(absl::string_view(from, size));
    }
    searched = left;
    if (left > kLineBytesMax) return Take(absl::string_view(from, left));
    if (Fill()) continue;
    if (left == 0) return std::nullopt;
    begin_ = end_;
    return Take(absl::string_view(bytes_.data(), left));
  }
}

std::optional<absl::string_view> LineReader::Take(absl::string_view line) {
  ++number_;
  const auto refuse = [&](absl::string_view text) {
    status_ = absl::InvalidArgumentError(absl::StrCat(source_, ":", number_, ": ", text));
    return std::nullopt;
  };
  if (line.size() > kLineBytesMax) return refuse("a line of more than 1 MiB; give a file of text");
  if (std::memchr(line.data(), '\0', line.size()) != nullptr) {
    return refuse("a zero byte, so no text; unpack archives first: tar -xzf FILE");
  }
  absl::ConsumeSuffix(&line, "\r");
  if (number_ == 1) absl::ConsumePrefix(&line, "\xEF\xBB\xBF");
  return line;
}

}  // namespace pipefill::simulator
