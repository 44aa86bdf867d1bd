// From a journal to the state that it describes.
//
// Thread-compatible.
#ifndef SCHEDULER_JOURNAL_RECOVERY_H_
#define SCHEDULER_JOURNAL_RECOVERY_H_

#include "absl/status/status.h"
#include "common/instant.h"
#include "scheduler/core/cluster_state.h"
#include "scheduler/journal/journal.h"

namespace pipefill::scheduler {

// Applies all records of `journal` to `state`, which is empty, as if they happened at `now`.
// DataLoss, with the sequence number, if a record cannot follow those before it; FailedPrecondition
// if a newer schedulerd wrote it.
absl::Status Recover(Journal& journal, Instant now, ClusterState* state);

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_JOURNAL_RECOVERY_H_
