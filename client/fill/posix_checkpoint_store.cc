#include "client/fill/posix_checkpoint_store.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <utility>

namespace pipefill::sdk {
namespace {

constexpr char kHiddenPrefix[] = ".unfinished-";
// Another process may remove our unfinished file as a leftover, or have one of the same name.
constexpr int kTries = 16;
constexpr size_t kPieceBytes = size_t{1} << 20;

bool IsHidden(const std::string& name) { return name.rfind(kHiddenPrefix, 0) == 0; }

// By its number: glibc knows fstat by name only since 2.33, and older ones must load this.
uint64_t LinksOf(int file) {
  struct stat status = {};
  return syscall(SYS_fstat, file, &status) == 0 ? status.st_nlink : 0;
}

// False with errno set.
bool WriteAll(int file, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = write(file, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    content.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

// False with errno set.
bool ReadAll(int file, std::string* content) {
  content->clear();
  for (;;) {
    const size_t size = content->size();
    content->resize(size + kPieceBytes);
    const ssize_t got = read(file, content->data() + size, kPieceBytes);
    content->resize(size + (got > 0 ? static_cast<size_t>(got) : 0));
    if (got == 0) return true;
    if (got < 0 && errno != EINTR) return false;
  }
}

}  // namespace

Error PosixCheckpointStore::Open(const std::string& folder,
                                 std::unique_ptr<CheckpointStore>* store) {
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return SystemError("make folder for checkpoints " + folder, errno);
  }
  Descriptor descriptor(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!descriptor.is_open()) return SystemError("open folder for checkpoints " + folder, errno);
  std::unique_ptr<PosixCheckpointStore> made(
      new PosixCheckpointStore(folder, std::move(descriptor)));
  made->RemoveHidden();
  *store = std::move(made);
  return {};
}

void PosixCheckpointStore::RemoveHidden() {
  std::vector<std::string> names;
  if (!ReadFolder(&names).ok()) return;
  for (const std::string& name : names) {
    if (IsHidden(name)) unlinkat(descriptor_.get(), name.c_str(), 0);
  }
}

Error PosixCheckpointStore::Failed(const std::string& what, const std::string& name) const {
  const int number = errno;
  return SystemError(what + " " + folder_ + (name.empty() ? "" : "/" + name), number);
}

Error PosixCheckpointStore::PutIfAbsent(const std::string& name, std::string_view content,
                                        bool* is_new) {
  *is_new = false;
  Error error;
  for (int i = 0; i < kTries; ++i) {
    bool is_disturbed = false;
    error = TryPut({.name = name, .content = content}, is_new, &is_disturbed);
    if (!is_disturbed) break;
  }
  if (error.ok() && fsync(descriptor_.get()) != 0) return Failed("sync folder", "");
  return error;
}

Error PosixCheckpointStore::TryPut(const Blob& blob, bool* is_new, bool* is_disturbed) {
  static std::atomic<uint64_t> last_hidden{0};
  const std::string hidden = kHiddenPrefix + std::to_string(getpid()) + "-" +
                             std::to_string(++last_hidden) + "-" + blob.name;
  const Descriptor file(openat(descriptor_.get(), hidden.c_str(),
                               O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.is_open()) {
    *is_disturbed = errno == EEXIST;
    return Failed("make file", hidden);
  }
  Error error;
  if (!WriteAll(file.get(), blob.content)) {
    error = Failed("write", hidden);
  } else if (fsync(file.get()) != 0) {
    error = Failed("sync", hidden);
  } else if (!Link(hidden, blob.name, file, is_new)) {
    *is_disturbed = errno == ENOENT;
    error = Failed("name file", blob.name);
  }
  unlinkat(descriptor_.get(), hidden.c_str(), 0);
  return error;
}

bool PosixCheckpointStore::Link(const std::string& hidden, const std::string& name,
                                const Descriptor& file, bool* is_new) {
  const int result = linkat(descriptor_.get(), hidden.c_str(), descriptor_.get(), name.c_str(), 0);
  const int number = errno;
  // A server of NFS may have done it and said so in an answer that was lost; the file tells.
  *is_new = result == 0 || LinksOf(file.get()) == 2;
  errno = number;
  return *is_new || number == EEXIST;
}

Error PosixCheckpointStore::Get(const std::string& name, std::string* content) {
  const Descriptor file(openat(descriptor_.get(), name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file.is_open()) return Failed("open", name);
  if (!ReadAll(file.get(), content)) return Failed("read", name);
  return {};
}

Error PosixCheckpointStore::List(std::vector<std::string>* names) {
  std::vector<std::string> all;
  const Error error = ReadFolder(&all);
  names->clear();
  for (std::string& name : all) {
    if (!IsHidden(name)) names->push_back(std::move(name));
  }
  return error;
}

Error PosixCheckpointStore::ReadFolder(std::vector<std::string>* names) {
  names->clear();
  // A descriptor of its own: reading moves its position.
  const int copy = openat(descriptor_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* entries = copy < 0 ? nullptr : fdopendir(copy);
  if (entries == nullptr) {
    const Error error = Failed("list folder", "");
    if (copy >= 0) close(copy);
    return error;
  }
  errno = 0;
  while (const dirent* entry = readdir(entries)) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names->push_back(name);
  }
  const Error error = errno == 0 ? Error() : Failed("list folder", "");
  closedir(entries);
  return error;
}

Error PosixCheckpointStore::Remove(const std::string& name) {
  if (unlinkat(descriptor_.get(), name.c_str(), 0) == 0 || errno == ENOENT) return {};
  return Failed("remove", name);
}

}  // namespace pipefill::sdk
