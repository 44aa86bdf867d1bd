#include "common/files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/status.h"

namespace pipefill {
namespace {

absl::Status FolderError(int error_number, const std::string& path) {
  const absl::Status status =
      ErrnoStatus(error_number, absl::StrCat("folder ", path, " is not writable"));
  // A file in the way, or a place where folders cannot be made at all.
  const bool is_wrong_place =
      error_number == ENOTDIR || error_number == ENOENT || error_number == EEXIST;
  const absl::StatusCode code =
      is_wrong_place ? absl::StatusCode::kPermissionDenied : status.code();
  return absl::Status(code,
                      absl::StrCat(status.message(), "; choose another or change its permissions"));
}

// Returns 0 or the error number.
int MakeFolders(const std::string& path) {
  for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string prefix = path.substr(0, end);
    if (mkdir(prefix.c_str(), 0755) != 0 && errno != EEXIST) {
      const int error_number = errno;
      struct stat info {};
      // On a read-only mount mkdir may complain about what already exists.
      if (stat(prefix.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) return error_number;
    }
    if (end == std::string::npos) return 0;
  }
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

absl::Status MakeWritableFolder(const std::string& path) {
  if (path.empty()) return absl::InvalidArgumentError("folder name is empty; name a folder");
  if (const int error_number = MakeFolders(path); error_number != 0) {
    return FolderError(error_number, path);
  }
  std::string probe = absl::StrCat(path, "/.probe-XXXXXX");
  const FileDescriptor file(mkostemp(probe.data(), O_CLOEXEC));
  if (!file.is_open()) return FolderError(errno, path);
  unlink(probe.c_str());
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return ErrnoStatus(errno, absl::StrCat("open ", path));
  std::string text;
  std::string block(size_t{64} * 1024, '\0');
  while (true) {
    const ssize_t count = read(file.get(), block.data(), block.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return ErrnoStatus(errno, absl::StrCat("read ", path));
    if (count == 0) return text;
    text.append(block, 0, static_cast<size_t>(count));
  }
}

absl::Status WriteFileAtomically(const std::string& path, absl::string_view text) {
  const std::string fresh = absl::StrCat(path, ".new");
  {
    const FileDescriptor file(open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (!file.is_open()) return ErrnoStatus(errno, absl::StrCat("open ", fresh));
    RETURN_IF_ERROR(WithContext(WriteAll(file.get(), text), fresh));
    if (fsync(file.get()) != 0) return ErrnoStatus(errno, absl::StrCat("sync ", fresh));
  }
  if (rename(fresh.c_str(), path.c_str()) != 0) {
    return ErrnoStatus(errno, absl::StrCat("rename ", fresh, " to ", path));
  }
  return SyncFolder(FolderOf(path));
}

absl::Status WriteAll(int file, absl::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return ErrnoStatus(errno, "write");
    text.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

absl::Status SyncFolder(const std::string& path) {
  const FileDescriptor folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.is_open()) return ErrnoStatus(errno, absl::StrCat("open ", path));
  if (fsync(folder.get()) != 0) return ErrnoStatus(errno, absl::StrCat("sync ", path));
  return absl::OkStatus();
}

absl::StatusOr<FileDescriptor> LockFolder(const std::string& path) {
  const std::string name = absl::StrCat(path, "/lock");
  FileDescriptor file(open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!file.is_open()) return ErrnoStatus(errno, absl::StrCat("open ", name));
  if (flock(file.get(), LOCK_EX | LOCK_NB) == 0) return file;
  if (errno != EWOULDBLOCK) return ErrnoStatus(errno, absl::StrCat("lock ", name));
  return absl::FailedPreconditionError(absl::StrCat(
      "folder ", path, " is in use by another process; stop that one or choose another folder"));
}

}  // namespace pipefill
