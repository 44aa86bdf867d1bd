// What may be the name of an environment variable.
//
// Pure.
#ifndef COMMON_VARIABLE_NAME_H_
#define COMMON_VARIABLE_NAME_H_

#include "absl/strings/string_view.h"

namespace pipefill {

// Whether it matches [A-Za-z_][A-Za-z0-9_]*.
bool IsVariableName(absl::string_view name);

}  // namespace pipefill

#endif  // COMMON_VARIABLE_NAME_H_
