#include "scheduler/journal/checksum.h"

#include <zlib.h>

namespace pipefill::scheduler {

uint32_t ChecksumOf(int64_t number, absl::string_view bytes) {
  unsigned char place[8];
  for (int i = 0; i < 8; ++i) {
    place[i] = static_cast<unsigned char>(static_cast<uint64_t>(number) >> (8 * i));
  }
  uLong checksum = crc32(0, place, sizeof(place));
  checksum = crc32(checksum, reinterpret_cast<const Bytef*>(bytes.data()),
                   static_cast<uInt>(bytes.size()));
  return static_cast<uint32_t>(checksum);
}

}  // namespace pipefill::scheduler
