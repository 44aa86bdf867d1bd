// Where accepted events are kept: a row of records to which is appended. Older records are removed
// once a snapshot (snapshot_store.h) stands for them; nothing else is durable in schedulerd.
//
// Thread-compatible: belongs to the scheduler loop. All but the reads of numbers block on the disk.
#ifndef SCHEDULER_JOURNAL_JOURNAL_H_
#define SCHEDULER_JOURNAL_JOURNAL_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace pipefill::scheduler {

class Journal {
 public:
  // `sequence` counts records from 1 without holes.
  using RecordVisitor = std::function<absl::Status(int64_t sequence, absl::string_view record)>;

  virtual ~Journal() = default;

  // Visits the records after number `after` in order; ends with the visitor's first error.
  // DataLoss, with the sequence number, if a record is missing or is not what was written.
  virtual absl::Status ForEachRecord(int64_t after, const RecordVisitor& visit) = 0;

  // Returns OK only when all of `records` are on disk and will survive a crash and a power loss.
  // ResourceExhausted: the disk is full; none of them is kept, and it may be tried again. After any
  // other error it is unknown which of them are; the journal must not be used any more.
  // REQUIRES: `records` is not empty.
  virtual absl::Status Append(const std::vector<std::string>& records) = 0;

  // Removes the oldest `limit` of the records up to number `last`; true if none of them is left.
  // Errors as for Append.
  virtual absl::StatusOr<bool> RemoveUpTo(int64_t last, int64_t limit) = 0;

  // Numbers of the oldest and the newest record. If there is none, `last` is that of the newest one
  // that ever was, and `first` is one more.
  virtual int64_t first_sequence() const = 0;
  virtual int64_t last_sequence() const = 0;
  // The newest record that is known to have been on disk. More than last_sequence(): some are gone.
  virtual int64_t high_water() const = 0;

  // Records up to `sequence` are in a snapshot; the next one gets a larger number. Nothing if it
  // would anyway.
  virtual void SkipTo(int64_t sequence) = 0;
};

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_JOURNAL_JOURNAL_H_
