// Sizes, durations and cores as people write them: what is taken is in range, and cores come back
// from their own text.
#include <algorithm>

#include "common/check.h"
#include "common/quantity.h"
#include "tests/fuzz/fuzz_target.h"

namespace pipefill {

bool TakeInput(absl::string_view input) {
  const absl::StatusOr<int64_t> bytes = ParseBytes(input);
  if (bytes.ok()) {
    CHECK(*bytes >= 0);
    CHECK(!FormatBytes(*bytes).empty());
  }
  const absl::StatusOr<absl::Duration> duration = ParsePositiveDuration(input);
  if (duration.ok()) {
    CHECK(*duration >= absl::ZeroDuration() && *duration < absl::InfiniteDuration());
    CHECK(!pipefill::FormatDuration(*duration).empty());
  }
  const absl::StatusOr<std::vector<int>> cores = ParseCores(input);
  if (cores.ok()) {
    CHECK(!cores->empty() && cores->front() >= 0);
    CHECK(std::adjacent_find(cores->begin(), cores->end(), std::greater_equal<>()) == cores->end());
    CHECK(ParseCores(FormatCores(*cores)).value() == *cores);
  }
  return bytes.ok() || duration.ok() || cores.ok();
}

std::vector<std::string> Seeds() {
  return {"512MiB", "1.5 GiB", "100000", "1m30s", "200us", "0-3,8", "8"};
}

}  // namespace pipefill
