// The journal in a SQLite file: `journal.db` in the state folder.
//
//   journal(sequence INTEGER PRIMARY KEY, checksum INTEGER, record BLOB)
//
// WAL with synchronous=FULL: a commit returns after the log is synced. `checksum` is that of
// checksum.h over the sequence number and the record. The format number is the file's user_version;
// a store with a larger one is refused unchanged, an older one becomes of this format.
//
// Found at opening, and refused: a log that is damaged in the middle (wal.h), and records that are
// gone from the end (high_water_mark.h). A torn last transaction is cut off; it was never answered.
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
  static constexpr int kFormat = 3;

  // Opens the journal in `state_folder`; makes folder and file if absent. One process at a time.
  // PermissionDenied: the folder is not writable. FailedPrecondition: another process has it, or it
  // was written by a newer version. DataLoss: the file is no journal, or is damaged.
  static absl::StatusOr<std::unique_ptr<SqliteJournal>> Open(const std::string& state_folder);

  // The same, without making or changing anything: for looking at a store that may be damaged. A
  // damaged log is a warning here. NotFound if there is no journal.
  static absl::StatusOr<std::unique_ptr<SqliteJournal>> OpenToRead(const std::string& state_folder);

  ~SqliteJournal() override;

  absl::Status ForEachRecord(int64_t after, const RecordVisitor& visit) override;
  absl::Status Append(const std::vector<std::string>& records) override;
  absl::StatusOr<bool> RemoveUpTo(int64_t last, int64_t limit) override;
  int64_t first_sequence() const override;
  int64_t last_sequence() const override;
  int64_t high_water() const override;
  void SkipTo(int64_t sequence) override;

  // One line each: what was found at opening and does not stand in the way.
  const std::vector<std::string>& warnings() const;

 private:
  struct Store;

  explicit SqliteJournal(std::unique_ptr<Store> store);

  absl::Status ReadNumbers();

  const std::unique_ptr<Store> store_;
};

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_JOURNAL_SQLITE_JOURNAL_H_
