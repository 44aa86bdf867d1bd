// Checks JSON text against the descriptor of a protobuf message: names, types, ranges, and that no
// field is given twice. Makes the messages that protobuf's own parser cannot: with line and path.
//
// Pure.
#ifndef COMMON_CONFIG_CHECK_H_
#define COMMON_CONFIG_CHECK_H_

#include <google/protobuf/descriptor.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace pipefill {

// InvalidArgument as in config.h, for the first fault. Does not look into the messages of
// google.protobuf, which have JSON forms of their own.
absl::Status CheckJson(const std::string& json, absl::string_view origin,
                       const google::protobuf::Descriptor& type);

}  // namespace pipefill

#endif  // COMMON_CONFIG_CHECK_H_
