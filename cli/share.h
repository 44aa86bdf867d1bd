// Shares of a whole as people write them, in millionths as programs keep them.
//
// Pure.
#ifndef CLI_SHARE_H_
#define CLI_SHARE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace pipefill {

// "0.5%", "0.5 %" or "0.005" -> 5000. InvalidArgument, with what to write, unless it is above 0 and
// at most the whole; `what` names it in the error ("budget").
absl::StatusOr<uint32_t> ParsePpm(absl::string_view what, absl::string_view text);
// "0.5 %".
std::string FormatPpm(uint32_t ppm);

}  // namespace pipefill

#endif  // CLI_SHARE_H_
