// The built-in policies by their names in the configuration.
//
// Pure.
#ifndef PLANNER_POLICIES_BY_NAME_H_
#define PLANNER_POLICIES_BY_NAME_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "planner/policy.h"

namespace pipefill {

// InvalidArgument if there is none of that name; the text lists the known ones.
absl::StatusOr<std::unique_ptr<Policy>> MakePolicyByName(absl::string_view name);

}  // namespace pipefill

#endif  // PLANNER_POLICIES_BY_NAME_H_
