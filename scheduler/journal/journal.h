// Where accepted events are kept: an append-only row of records. The only durable thing of
// schedulerd.
//
// Thread-compatible: belongs to the scheduler loop. Append and ForEachRecord block on the disk.
#ifndef SCHEDULER_JOURNAL_JOURNAL_H_
#define SCHEDULER_JOURNAL_JOURNAL_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace pipefill::scheduler {

class Journal {
 public:
  // `sequence` counts records from 1 without holes.
  using RecordVisitor = std::function<absl::Status(int64_t sequence, absl::string_view record)>;

  virtual ~Journal() = default;

  // Visits all records in order; ends with the visitor's first error. DataLoss, with the sequence
  // number, if a record is missing or is not what was written.
  virtual absl::Status ForEachRecord(const RecordVisitor& visit) = 0;

  // Returns OK only when all of `records` are on disk and will survive a crash and a power loss.
  // After an error it is unknown which of them are; the journal must not be used any more.
  // REQUIRES: `records` is not empty.
  virtual absl::Status Append(const std::vector<std::string>& records) = 0;
};

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_JOURNAL_JOURNAL_H_
