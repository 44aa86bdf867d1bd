#include "planner/policies/by_name.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "planner/policies/fifo.h"

namespace pipefill {

absl::StatusOr<std::unique_ptr<Policy>> MakePolicyByName(absl::string_view name) {
  if (name == "fifo") return std::make_unique<FifoPolicy>();
  return absl::InvalidArgumentError(
      absl::StrCat("no policy has the name \"", name, "\"; known: fifo"));
}

}  // namespace pipefill
