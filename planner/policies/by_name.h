// The built-in policies by their names in the configuration, and those of a site's own.
//
// Pure.
#ifndef PLANNER_POLICIES_BY_NAME_H_
#define PLANNER_POLICIES_BY_NAME_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "planner/policy.h"

namespace pipefill {

// Reads a whole file, or says why that failed.
using ReadText = std::function<absl::StatusOr<std::string>(const std::string& file)>;

// "sjf", "lua:FILE", or several with commas in between. InvalidArgument if there is none of that
// name; the text lists the known ones. InvalidArgument with file and line, if a script cannot be
// used.
absl::StatusOr<std::unique_ptr<Policy>> MakePolicyByName(absl::string_view name,
                                                         const ReadText& read);

}  // namespace pipefill

#endif  // PLANNER_POLICIES_BY_NAME_H_
