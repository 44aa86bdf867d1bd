// When an error is worth another try: a time that goes with a status, and with a gRPC call as the
// trailing metadata `pipefill-retry-after-ms`.
//
// Pure.
#ifndef COMMON_RETRY_AFTER_H_
#define COMMON_RETRY_AFTER_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace pipefill {

inline constexpr char kRetryAfterMetadata[] = "pipefill-retry-after-ms";

// `status` with the advice to try the same again after `wait`, rounded up to milliseconds.
// REQUIRES: it is an error.
absl::Status WithRetryAfter(absl::Status status, absl::Duration wait);
// nullopt: there is no such advice.
std::optional<absl::Duration> RetryAfterOf(const absl::Status& status);

// Value of the metadata, and back; nullopt if `text` is not 0..3,600,000.
std::string FormatRetryAfter(absl::Duration wait);
std::optional<absl::Duration> ParseRetryAfter(absl::string_view text);

}  // namespace pipefill

#endif  // COMMON_RETRY_AFTER_H_
