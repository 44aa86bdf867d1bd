// Reads JSON into a protobuf message, strictly: unknown fields, wrong types and broken text are
// errors that name the file, the line and the path of the field.
//
// Lines whose first non-blank characters are `//` are comments.
//
// Pure but for ReadJsonFile, which reads a file.
#ifndef COMMON_CONFIG_H_
#define COMMON_CONFIG_H_

#include <google/protobuf/message.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace pipefill {

// InvalidArgument: "agentd.json:7: devices[0].coers: no such field; did you mean cores?".
// `origin` names the source in messages.
absl::Status ParseJson(absl::string_view text, absl::string_view origin,
                       google::protobuf::Message* message);
// NotFound or PermissionDenied if the file cannot be read.
absl::Status ReadJsonFile(const std::string& path, google::protobuf::Message* message);

}  // namespace pipefill

#endif  // COMMON_CONFIG_H_
