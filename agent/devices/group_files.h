// Writes the files of control groups, and reads their lists of words.
//
// Thread-safe.
#ifndef AGENT_DEVICES_GROUP_FILES_H_
#define AGENT_DEVICES_GROUP_FILES_H_

#include "absl/strings/string_view.h"

namespace pipefill {

// In one write. 0, or an errno value. Async-signal-safe.
int WriteGroupFile(const char* path, absl::string_view text) noexcept;

// Whether `word` stands in `text` between any of `separators`.
bool HasWord(absl::string_view text, absl::string_view separators, absl::string_view word);

}  // namespace pipefill

#endif  // AGENT_DEVICES_GROUP_FILES_H_
