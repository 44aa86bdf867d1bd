#include "scheduler/journal/disk_reserve.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/file_descriptor.h"
#include "common/quantity.h"

namespace pipefill::scheduler {

DiskReserve::DiskReserve(std::string folder, int64_t reserve_bytes)
    : folder_(std::move(folder)), path_(folder_ + "/reserve"), reserve_bytes_(reserve_bytes) {
  struct stat info {};
  is_held_ = stat(path_.c_str(), &info) == 0 && info.st_size == reserve_bytes_ &&
             int64_t{info.st_blocks} * 512 >= reserve_bytes_;
  // As large as it is configured now.
  if (!is_held_) is_held_ = Take();
}

absl::Status DiskReserve::Check() {
  const int64_t free_bytes = FreeBytes();
  if (free_bytes < 0) return absl::OkStatus();
  if (!is_held_ && free_bytes >= 3 * reserve_bytes_) is_held_ = Take();
  const int64_t needed_bytes = is_held_ ? reserve_bytes_ : 3 * reserve_bytes_;
  if (free_bytes >= needed_bytes) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("the disk of state folder ", folder_, " is full: free=", FormatBytes(free_bytes),
                   " needed=", FormatBytes(needed_bytes),
                   "; no new job is accepted until there is space, what runs goes on"));
}

bool DiskReserve::GiveUpReserve() {
  if (!is_held_) return false;
  is_held_ = false;
  return unlink(path_.c_str()) == 0;
}

int64_t DiskReserve::FreeBytes() const {
  struct statvfs info {};
  if (statvfs(folder_.c_str(), &info) != 0) return -1;
  return static_cast<int64_t>(info.f_bavail) * static_cast<int64_t>(info.f_frsize);
}

bool DiskReserve::Take() {
  const FileDescriptor file(open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (!file.is_open()) return false;
  if (ftruncate(file.get(), reserve_bytes_) == 0 &&
      posix_fallocate(file.get(), 0, reserve_bytes_) == 0) {
    return true;
  }
  unlink(path_.c_str());
  return false;
}

}  // namespace pipefill::scheduler
