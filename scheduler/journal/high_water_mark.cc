#include "scheduler/journal/high_water_mark.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "scheduler/journal/checksum.h"

namespace pipefill::scheduler {
namespace {

// On disk; only this machine reads it.
struct Content {
  int64_t value = 0;
  uint32_t checksum = 0;
  uint32_t unused = 0;
};
static_assert(sizeof(Content) == 16);

uint32_t ChecksumOf(int64_t value) { return scheduler::ChecksumOf(value, "mark"); }

}  // namespace

HighWaterMark::HighWaterMark(const std::string& folder) : path_(folder + "/journal.mark") {
  file_ = FileDescriptor(open(path_.c_str(), O_RDWR | O_CLOEXEC));
  if (!file_.is_open() && errno == ENOENT) return;
  if (!file_.is_open()) {
    problem_ = std::string(ErrnoStatus(errno, absl::StrCat("open ", path_)).message());
    is_usable_ = false;
    return;
  }
  Content content;
  const ssize_t count = pread(file_.get(), &content, sizeof(content), 0);
  if (count == 0) return;
  if (count == sizeof(content) && content.checksum == ChecksumOf(content.value)) {
    value_ = content.value;
    return;
  }
  problem_ = absl::StrCat(path_, " is damaged; missing records at the end would not be noticed");
}

void HighWaterMark::Set(int64_t value) {
  value_ = value;
  if (!is_usable_) return;
  if (!file_.is_open()) {
    file_ = FileDescriptor(open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  }
  const Content content = {.value = value, .checksum = ChecksumOf(value)};
  // Nothing rests on its success.
  is_usable_ = pwrite(file_.get(), &content, sizeof(content), 0) == sizeof(content);
}

}  // namespace pipefill::scheduler
