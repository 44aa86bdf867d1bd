// One durable event <-> the bytes of its record (JournalRecord in proto/journal.proto).
//
// Pure.
#ifndef SCHEDULER_JOURNAL_RECORD_H_
#define SCHEDULER_JOURNAL_RECORD_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "scheduler/core/event.h"

namespace pipefill::scheduler {

// REQUIRES: IsDurable(event).
std::string EncodeRecord(const Event& event, absl::Time wall);

struct DecodedRecord {
  Event event;
  absl::Time wall;
};
// DataLoss if the bytes are no JournalRecord; FailedPrecondition if they hold an event that this
// binary does not know.
absl::StatusOr<DecodedRecord> DecodeRecord(absl::string_view record);

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_JOURNAL_RECORD_H_
