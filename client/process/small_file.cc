#include "client/process/small_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "client/platform/descriptor.h"

namespace pipefill::sdk {

std::string ReadSmallFile(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return file.is_open() ? ReadSmallFile(file.get()) : std::string();
}

std::string ReadSmallFile(int descriptor) {
  std::string text;
  std::array<char, 4096> part = {};
  for (;;) {
    const ssize_t count =
        pread(descriptor, part.data(), part.size(), static_cast<off_t>(text.size()));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return text;
    text.append(part.data(), static_cast<size_t>(count));
  }
}

int WriteSmallFile(const std::string& path, std::string_view text) {
  const Descriptor file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file.is_open()) return errno;
  return write(file.get(), text.data(), text.size()) < 0 ? errno : 0;
}

}  // namespace pipefill::sdk
