// Inputs of several parts: what InputWriter puts together for a seed, InputReader takes apart in
// the same order. An input that ends early reads as zeros.
//
// Thread-compatible.
#ifndef TESTS_FUZZ_FUZZ_INPUT_H_
#define TESTS_FUZZ_FUZZ_INPUT_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace pipefill {

class InputReader {
 public:
  explicit InputReader(absl::string_view bytes) : bytes_(bytes) {}

  bool is_at_end() const { return bytes_.empty(); }

  template <typename Number>
  Number Take() {
    Number number = 0;
    const absl::string_view taken = TakeBytes(sizeof(Number));
    std::memcpy(&number, taken.data(), taken.size());
    return number;
  }
  // Fewer at the end of the input.
  absl::string_view TakeBytes(size_t size) {
    const absl::string_view taken = bytes_.substr(0, size);
    bytes_.remove_prefix(taken.size());
    return taken;
  }
  // With its length, of 2 bytes, in front.
  absl::string_view TakePiece() { return TakeBytes(Take<uint16_t>()); }
  std::vector<absl::string_view> TakePieces() {
    std::vector<absl::string_view> pieces;
    while (!is_at_end()) pieces.push_back(TakePiece());
    return pieces;
  }
  absl::string_view TakeRest() { return TakeBytes(bytes_.size()); }

 private:
  absl::string_view bytes_;
};

class InputWriter {
 public:
  template <typename Number>
  InputWriter& Put(Number number) {
    bytes_.append(reinterpret_cast<const char*>(&number), sizeof(number));
    return *this;
  }
  InputWriter& PutBytes(absl::string_view bytes) {
    bytes_.append(bytes.data(), bytes.size());
    return *this;
  }
  // REQUIRES: at most 65,535 bytes.
  InputWriter& PutPiece(absl::string_view bytes) {
    return Put(static_cast<uint16_t>(bytes.size())).PutBytes(bytes);
  }
  std::string Take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

}  // namespace pipefill

#endif  // TESTS_FUZZ_FUZZ_INPUT_H_
