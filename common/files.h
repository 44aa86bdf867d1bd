// Small file operations with clear errors.
//
// Thread-safe.
#ifndef COMMON_FILES_H_
#define COMMON_FILES_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/file_descriptor.h"

namespace pipefill {

// Makes `path` and its parents, mode 0755, and checks that files can be made there. The error says
// what to do: "state folder /x is not writable: Permission denied; choose another with ...".
absl::Status MakeWritableFolder(const std::string& path);
absl::StatusOr<std::string> ReadFile(const std::string& path);
// Write to `path`.new, fsync, rename, fsync of the folder: readers see the old or the new text.
absl::Status WriteFileAtomically(const std::string& path, absl::string_view text);
// Writes all of `text` to the open file. The text of an error does not name the file.
absl::Status WriteAll(int file, absl::string_view text);
// Makes new, renamed and removed entries of the folder durable.
absl::Status SyncFolder(const std::string& path);
// Takes an exclusive lock on `path`/lock, held while the descriptor is open. FailedPrecondition if
// another process holds it.
absl::StatusOr<FileDescriptor> LockFolder(const std::string& path);

}  // namespace pipefill

#endif  // COMMON_FILES_H_
