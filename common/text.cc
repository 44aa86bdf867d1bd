#include "common/text.h"

namespace pipefill {

std::string CutText(absl::string_view text, size_t bytes_max) {
  if (text.size() <= bytes_max) return std::string(text);
  // Back to where a character begins.
  while (bytes_max > 0 && (static_cast<unsigned char>(text[bytes_max]) & 0xc0) == 0x80) --bytes_max;
  return std::string(text.substr(0, bytes_max));
}

}  // namespace pipefill
