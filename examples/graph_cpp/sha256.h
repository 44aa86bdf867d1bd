// SHA-256, so that a result can be compared with `sha256sum` of the output file.
//
// Thread-compatible: one Sha256 belongs to one thread.
#ifndef EXAMPLES_GRAPH_CPP_SHA256_H_
#define EXAMPLES_GRAPH_CPP_SHA256_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace pipefill {

class Sha256 {
 public:
  void Update(std::string_view bytes);

  // Of all bytes so far, 64 hexadecimal digits. May be called at any time; does not end the stream.
  std::string HexDigest() const;

 private:
  static constexpr size_t kBlockBytes = 64;

  void Append(uint8_t byte);
  void MixBlock();

  std::array<uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<uint8_t, kBlockBytes> block_ = {};
  uint64_t length_bytes_ = 0;
};

}  // namespace pipefill

#endif  // EXAMPLES_GRAPH_CPP_SHA256_H_
