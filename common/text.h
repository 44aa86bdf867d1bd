// Text for people that comes from elsewhere.
//
// Pure.
#ifndef COMMON_TEXT_H_
#define COMMON_TEXT_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace pipefill {

// The first bytes of `text`, at most `bytes_max`, without a part of a character at the end: what
// was UTF-8 stays UTF-8, which protobuf insists on.
std::string CutText(absl::string_view text, size_t bytes_max);

}  // namespace pipefill

#endif  // COMMON_TEXT_H_
