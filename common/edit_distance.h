// How far two words are from each other: for "did you mean ...?".
//
// Pure.
#ifndef COMMON_EDIT_DISTANCE_H_
#define COMMON_EDIT_DISTANCE_H_

#include <cstddef>

#include "absl/strings/string_view.h"

namespace pipefill {

// Number of insertions, removals and replacements of bytes that turn `a` into `b`.
size_t EditDistance(absl::string_view a, absl::string_view b);

}  // namespace pipefill

#endif  // COMMON_EDIT_DISTANCE_H_
