#include "common/retry_after.h"

#include <cstdint>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace pipefill {
namespace {

constexpr char kPayload[] = "pipefill/retry_after_ms";
// What another process sends is not believed beyond this.
constexpr int64_t kLongestMs = 3'600'000;

}  // namespace

absl::Status WithRetryAfter(absl::Status status, absl::Duration wait) {
  status.SetPayload(kPayload, absl::Cord(FormatRetryAfter(wait)));
  return status;
}

std::optional<absl::Duration> RetryAfterOf(const absl::Status& status) {
  const absl::optional<absl::Cord> payload = status.GetPayload(kPayload);
  if (!payload.has_value()) return std::nullopt;
  return ParseRetryAfter(std::string(*payload));
}

std::string FormatRetryAfter(absl::Duration wait) {
  return absl::StrCat(absl::ToInt64Milliseconds(absl::Ceil(wait, absl::Milliseconds(1))));
}

std::optional<absl::Duration> ParseRetryAfter(absl::string_view text) {
  int64_t ms = 0;
  if (!absl::SimpleAtoi(text, &ms) || ms < 0 || ms > kLongestMs) return std::nullopt;
  return absl::Milliseconds(ms);
}

}  // namespace pipefill
