// The checksum of everything that schedulerd keeps on disk.
//
// Pure.
#ifndef SCHEDULER_JOURNAL_CHECKSUM_H_
#define SCHEDULER_JOURNAL_CHECKSUM_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace pipefill::scheduler {

// CRC-32 of `number` (8 bytes, little-endian), which is the place of `bytes`, and `bytes`: whole
// pieces that change places are found as well.
uint32_t ChecksumOf(int64_t number, absl::string_view bytes);

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_JOURNAL_CHECKSUM_H_
