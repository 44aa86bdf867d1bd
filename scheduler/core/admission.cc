#include "scheduler/core/admission.h"

#include "absl/strings/str_cat.h"
#include "common/quantity.h"

namespace pipefill::scheduler {

absl::Status CheckFitsLargest(const JobSpec& spec, const Device* largest) {
  if (largest == nullptr || spec.may_be_infeasible || spec.memory_bytes <= largest->memory_bytes) {
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(absl::StrCat(
      "memory ", FormatBytes(spec.memory_bytes), " is more than any device has: largest is ",
      FormatBytes(largest->memory_bytes), " (node ", largest->key.node, ", ", largest->key.name,
      "); ask for less, or let it wait for a larger one with --allow-infeasible"));
}

absl::Status CheckStartsLater(const JobSpec& spec, absl::Time wall) {
  if (!spec.start_before.has_value() || wall < *spec.start_before) return absl::OkStatus();
  return absl::InvalidArgumentError("spec.start_before_unix_ns: lies in the past");
}

}  // namespace pipefill::scheduler
