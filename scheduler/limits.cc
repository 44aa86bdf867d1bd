#include "scheduler/limits.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/retry_after.h"

namespace pipefill::scheduler {

absl::Status LimitError(const ReachedLimit& limit) {
  absl::Status status =
      absl::ResourceExhaustedError(absl::StrCat(limit.name, ": ", limit.max, " ", limit.what,
                                                " already, which is the limit; ", limit.advice));
  if (!limit.retry_after.has_value()) return status;
  return WithRetryAfter(std::move(status), *limit.retry_after);
}

bool LimitedCount::Enter() {
  if (++used_ <= max_) return true;
  --used_;
  return false;
}

}  // namespace pipefill::scheduler
