#include "scheduler/journal/snapshot_store.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/file_descriptor.h"
#include "common/files.h"
#include "common/status.h"

namespace pipefill::scheduler {
namespace {

constexpr absl::string_view kPrefix = "snapshot-";
constexpr absl::string_view kUnfinished = ".new";
constexpr absl::string_view kBad = ".bad";
constexpr size_t kReadBytes = size_t{1} << 20;

// The names in `folder` that begin like snapshots.
absl::StatusOr<std::vector<std::string>> NamesIn(const std::string& folder) {
  DIR* const entries = opendir(folder.c_str());
  if (entries == nullptr) return ErrnoStatus(errno, absl::StrCat("read folder ", folder));
  std::vector<std::string> names;
  while (const dirent* entry = readdir(entries)) {
    if (absl::StartsWith(entry->d_name, kPrefix)) names.emplace_back(entry->d_name);
  }
  closedir(entries);
  return names;
}

std::optional<int64_t> SequenceOf(absl::string_view name) {
  int64_t sequence = 0;
  if (!absl::SimpleAtoi(name.substr(kPrefix.size()), &sequence)) return std::nullopt;
  return sequence;
}

absl::Status WriteBlocks(FrameWriter& snapshot, int file, const std::string& path,
                         const std::atomic<bool>& is_stopping) {
  while (const std::optional<std::string> block = snapshot.Next()) {
    if (is_stopping) return absl::CancelledError("schedulerd stops");
    RETURN_IF_ERROR(WithContext(WriteAll(file, *block), path));
  }
  RETURN_IF_ERROR(WithContext(snapshot.status(), path));
  if (fsync(file) != 0) return ErrnoStatus(errno, absl::StrCat("sync ", path));
  return absl::OkStatus();
}

}  // namespace

std::string FileSnapshotStore::PathOf(int64_t sequence) const {
  return absl::StrCat(folder_, "/", kPrefix, sequence);
}

absl::StatusOr<std::vector<int64_t>> FileSnapshotStore::List() const {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, NamesIn(folder_));
  std::vector<int64_t> sequences;
  for (const std::string& name : names) {
    if (const std::optional<int64_t> sequence = SequenceOf(name)) sequences.push_back(*sequence);
  }
  std::sort(sequences.begin(), sequences.end(), std::greater<>());
  return sequences;
}

absl::Status FileSnapshotStore::Read(int64_t sequence,
                                     const FrameReader::PieceVisitor& visit) const {
  return ReadSnapshotFile(PathOf(sequence), visit);
}

absl::Status FileSnapshotStore::Write(FrameWriter snapshot, const std::atomic<bool>& is_stopping) {
  const std::string path = PathOf(snapshot.stamp().sequence);
  const std::string fresh = absl::StrCat(path, kUnfinished);
  absl::Status written;
  {
    const FileDescriptor file(open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (!file.is_open()) return ErrnoStatus(errno, absl::StrCat("open ", fresh));
    written = WriteBlocks(snapshot, file.get(), fresh, is_stopping);
  }
  if (written.ok() && rename(fresh.c_str(), path.c_str()) != 0) {
    written = ErrnoStatus(errno, absl::StrCat("rename ", fresh, " to ", path));
  }
  if (!written.ok()) {
    unlink(fresh.c_str());
    return written;
  }
  return SyncFolder(folder_);
}

absl::Status FileSnapshotStore::RemoveOlder(size_t keep) {
  ASSIGN_OR_RETURN(const std::vector<int64_t> sequences, List());
  ASSIGN_OR_RETURN(const std::vector<std::string> names, NamesIn(folder_));
  for (const std::string& name : names) {
    const std::optional<int64_t> sequence = SequenceOf(name);
    const bool is_kept =
        sequence.has_value() && (sequences.size() <= keep || *sequence > sequences[keep]);
    const bool is_ours = sequence.has_value() || absl::EndsWith(name, kUnfinished);
    if (is_kept || !is_ours) continue;
    const std::string path = absl::StrCat(folder_, "/", name);
    if (unlink(path.c_str()) != 0) return ErrnoStatus(errno, absl::StrCat("remove ", path));
  }
  return absl::OkStatus();
}

absl::Status FileSnapshotStore::SetAside(int64_t sequence) {
  const std::string path = PathOf(sequence);
  const std::string aside = absl::StrCat(path, kBad);
  if (rename(path.c_str(), aside.c_str()) != 0) {
    return ErrnoStatus(errno, absl::StrCat("rename ", path, " to ", aside));
  }
  return SyncFolder(folder_);
}

absl::Status ReadSnapshotFile(const std::string& path, const FrameReader::PieceVisitor& visit) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return ErrnoStatus(errno, absl::StrCat("open ", path));
  FrameReader reader;
  std::string block(kReadBytes, '\0');
  while (true) {
    const ssize_t count = read(file.get(), block.data(), block.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return ErrnoStatus(errno, absl::StrCat("read ", path));
    if (count == 0) break;
    const absl::string_view bytes(block.data(), static_cast<size_t>(count));
    RETURN_IF_ERROR(WithContext(reader.Take(bytes, visit), path));
  }
  return WithContext(reader.Finish(), path);
}

}  // namespace pipefill::scheduler
