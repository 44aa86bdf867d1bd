#include "common/variable_name.h"

#include <algorithm>

#include "absl/strings/ascii.h"

namespace pipefill {

bool IsVariableName(absl::string_view name) {
  const auto may_follow = [](char c) {
    return c == '_' || absl::ascii_isalnum(static_cast<unsigned char>(c));
  };
  return !name.empty() && !absl::ascii_isdigit(static_cast<unsigned char>(name[0])) &&
         std::all_of(name.begin(), name.end(), may_follow);
}

}  // namespace pipefill
