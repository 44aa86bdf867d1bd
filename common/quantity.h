// Sizes and durations as people write and read them.
//
// Pure.
#ifndef COMMON_QUANTITY_H_
#define COMMON_QUANTITY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace pipefill {

// "512MiB", "8GiB", "1.5 GiB", "100000" (bytes), "64KiB"; also KB/MB/GB as powers of 1,000.
// InvalidArgument with an example; negative sizes are refused.
absl::StatusOr<int64_t> ParseBytes(absl::string_view text);
// "50ms", "1m30s", "200us"; as absl::ParseDuration, but finite and not negative.
absl::StatusOr<absl::Duration> ParsePositiveDuration(absl::string_view text);
// "0-3,8" -> {0, 1, 2, 3, 8}, sorted; duplicates and reversed ranges are refused.
absl::StatusOr<std::vector<int>> ParseCores(absl::string_view text);

// "1.5 GiB", "512 MiB", "0 B".
std::string FormatBytes(int64_t bytes);
// "1.52 s", "12.3 ms", "210 us", "3m12s", "0 s". Three significant digits below a minute.
// Write pipefill:: in front: abseil has a function of this name.
std::string FormatDuration(absl::Duration duration);
// {0,1,2,8} -> "0-2,8".
std::string FormatCores(const std::vector<int>& cores);

}  // namespace pipefill

#endif  // COMMON_QUANTITY_H_
