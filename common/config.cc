#include "common/config.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/util/json_util.h>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/config_check.h"
#include "common/files.h"
#include "common/status.h"

namespace pipefill {
namespace {

// Blanks out the comment lines, so that positions stay as they are.
std::string WithoutComments(absl::string_view text) {
  std::string result;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const bool is_comment = absl::StartsWith(absl::StripLeadingAsciiWhitespace(line), "//");
    absl::StrAppend(&result, is_comment ? std::string(line.size(), ' ') : std::string(line), "\n");
  }
  result.pop_back();
  return result;
}

}  // namespace

absl::Status ParseJson(absl::string_view text, absl::string_view origin,
                       google::protobuf::Message* message) {
  const std::string json = WithoutComments(text);
  RETURN_IF_ERROR(CheckJson(json, origin, *message->GetDescriptor()));
  const google::protobuf::util::Status status =
      google::protobuf::util::JsonStringToMessage(json, message);
  if (status.ok()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      origin, ": ", absl::string_view(status.message().data(), status.message().size())));
}

absl::Status ReadJsonFile(const std::string& path, google::protobuf::Message* message) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  return ParseJson(text, path, message);
}

}  // namespace pipefill
