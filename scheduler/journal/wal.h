// What SQLite will make of a write-ahead log, found out before it opens the file.
//
// SQLite reads a log up to the first frame whose checksum fails, and takes all that follows for the
// torn end of a transaction that was never committed. That is right after a crash, which can only
// tear the last transaction, since each one is synced before the next begins. It is wrong if an
// older frame was damaged later: whole committed transactions then vanish without a word. Whoever
// opens a log with torn frames empties it, so that they are not taken for such transactions later.
//
// Thread-safe.
#ifndef SCHEDULER_JOURNAL_WAL_H_
#define SCHEDULER_JOURNAL_WAL_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace pipefill::scheduler {

struct WalReport {
  int64_t frames = 0;       // that SQLite will use
  int64_t torn_frames = 0;  // of a transaction whose commit is not there, or torn
  // At least one whole transaction lies behind the first bad frame: no crash does that.
  bool is_damaged = false;
};

// Of the log at `path`; all zero if there is none, or an empty one. Reads it once.
absl::StatusOr<WalReport> InspectWal(const std::string& path);

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_JOURNAL_WAL_H_
