#include "cli/job_file.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/config.h"
#include "common/quantity.h"
#include "common/status.h"
#include "proto/job_file.pb.h"

namespace pipefill {
namespace {

// Past the comment line that starts at `begin`, or `begin` if none does.
size_t SkipComment(absl::string_view text, size_t begin) {
  const size_t first = text.find_first_not_of(" \t\r", begin);
  if (first == absl::string_view::npos || text.substr(first, 2) != "//") return begin;
  return std::min(text.find('\n', first), text.size());
}

// Line, from 1, of the outermost object's field `name` in `text`, which has been parsed and has it.
int LineOfField(absl::string_view text, absl::string_view name) {
  int depth = 0;
  size_t string_begin = absl::string_view::npos;  // behind the quote, while inside a string
  for (size_t i = SkipComment(text, 0); i < text.size(); ++i) {
    if (string_begin != absl::string_view::npos) {
      if (text[i] == '\\') {
        ++i;  // past what it escapes
        continue;
      }
      if (text[i] != '"') continue;
      const bool is_field = depth == 1 && text.substr(string_begin, i - string_begin) == name;
      string_begin = absl::string_view::npos;
      const size_t next = text.find_first_not_of(" \t\r\n", i + 1);
      if (!is_field || next == absl::string_view::npos || text[next] != ':') continue;
      return 1 + static_cast<int>(std::count(text.begin(), text.begin() + i, '\n'));
    }
    if (text[i] == '"') string_begin = i + 1;
    if (text[i] == '\n') {
      i = SkipComment(text, i + 1) - 1;
      continue;
    }
    if (text[i] == '{' || text[i] == '[') ++depth;
    if (text[i] == '}' || text[i] == ']') --depth;
  }
  return 1;
}

}  // namespace

absl::StatusOr<v1::JobSpec> ParseJobFile(absl::string_view text, absl::string_view origin) {
  v1::JobFile file;
  RETURN_IF_ERROR(ParseJson(text, origin, &file));
  v1::JobSpec spec;
  spec.set_name(file.name());
  *spec.mutable_command() = file.command();
  *spec.mutable_env() = file.env();
  spec.set_workdir(file.workdir());
  spec.set_retries(file.retries());
  if (file.has_profile()) *spec.mutable_profile() = file.profile();
  if (file.way() == "process") spec.set_way(v1::FILL_WAY_PROCESS);
  if (!file.way().empty() && file.way() != "process" && file.way() != "sdk") {
    return absl::InvalidArgumentError(absl::StrCat(origin, ":", LineOfField(text, "way"),
                                                   ": way: \"", file.way(),
                                                   "\" is none; write sdk or process"));
  }
  if (!file.memory().empty()) {
    const absl::StatusOr<int64_t> memory_bytes = ParseBytes(file.memory());
    if (!memory_bytes.ok()) {
      return WithContext(memory_bytes.status(),
                         absl::StrCat(origin, ":", LineOfField(text, "memory"), ": memory"));
    }
    spec.set_memory_bytes(*memory_bytes);
  }
  return spec;
}

}  // namespace pipefill
