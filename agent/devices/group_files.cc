#include "agent/devices/group_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_split.h"

namespace pipefill {

int WriteGroupFile(const char* path, absl::string_view text) noexcept {
  const int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) return errno;
  const ssize_t written = write(file, text.data(), text.size());
  const int error = written < 0 ? errno : 0;
  close(file);
  return error;
}

bool HasWord(absl::string_view text, absl::string_view separators, absl::string_view word) {
  for (const absl::string_view part : absl::StrSplit(text, absl::ByAnyChar(separators))) {
    if (part == word) return true;
  }
  return false;
}

}  // namespace pipefill
