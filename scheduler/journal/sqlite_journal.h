// The journal in a SQLite file: `journal.db` in the state folder.
//
//   journal(sequence INTEGER PRIMARY KEY, checksum INTEGER, record BLOB)
//
// WAL with synchronous=FULL: a commit returns after the log is synced. `checksum` is the CRC-32 of
// the sequence number (8 bytes, little-endian) and the record. The format number is the file's
// user_version; a store with a larger one is refused unchanged.
//
// Thread-compatible.
#ifndef SCHEDULER_JOURNAL_SQLITE_JOURNAL_H_
#define SCHEDULER_JOURNAL_SQLITE_JOURNAL_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "scheduler/journal/journal.h"

namespace pipefill::scheduler {

class SqliteJournal : public Journal {
 public:
  // The format that this binary writes, and the newest that it reads.
  static constexpr int kFormat = 1;

  // Opens the journal in `state_folder`; makes folder and file if absent. One process at a time.
  // PermissionDenied: the folder is not writable. FailedPrecondition: another process has it, or it
  // was written by a newer version. DataLoss: the file is no journal, or is damaged.
  static absl::StatusOr<std::unique_ptr<SqliteJournal>> Open(const std::string& state_folder);

  ~SqliteJournal() override;

  absl::Status ForEachRecord(const RecordVisitor& visit) override;
  absl::Status Append(const std::vector<std::string>& records) override;

 private:
  struct Store;

  explicit SqliteJournal(std::unique_ptr<Store> store);

  const std::unique_ptr<Store> store_;
};

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_JOURNAL_SQLITE_JOURNAL_H_
