// From a snapshot and a journal to the state that they describe.
//
// Thread-compatible.
#ifndef SCHEDULER_JOURNAL_RECOVERY_H_
#define SCHEDULER_JOURNAL_RECOVERY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/instant.h"
#include "scheduler/core/cluster_state.h"
#include "scheduler/journal/journal.h"
#include "scheduler/journal/snapshot_store.h"

namespace pipefill::scheduler {

// Applies all records of `journal` to `state`, which is empty, as if they happened at `now`.
// DataLoss, with the sequence number, if a record cannot follow those before it; FailedPrecondition
// if a newer schedulerd wrote it.
absl::Status Recover(Journal& journal, Instant now, ClusterState* state);

// Applies the records after number `after`; does not call FinishReplay. Sets `last` to the last one
// that was applied, also if it fails.
absl::Status ReplayAfter(Journal& journal, int64_t after, Instant now, ClusterState* state,
                         int64_t* last);

struct Recovered {
  ClusterState state;
  // Of the snapshot that was used and of the one before it, which is kept as well; 0 = none.
  int64_t snapshot_sequence = 0;
  int64_t older_snapshot_sequence = 0;
  absl::Time snapshot_at = absl::InfinitePast();
  int64_t records = 0;  // that were replayed
  // Newer ones, from which nothing could be recovered. SetAsideDamaged before the next one is
  // written.
  std::vector<int64_t> damaged_snapshots;
  std::vector<std::string> warnings;
};

// The newest snapshot and the records after it. If that snapshot is damaged, the one before it with
// its records, which gives the same state, and a warning. DataLoss: a record or a snapshot is
// damaged or missing, named; nothing is cut off.
absl::StatusOr<Recovered> RecoverStore(Journal& journal, const SnapshotStore& snapshots,
                                       const ClusterLimits& limits, Instant now);

// Left where they are, damaged snapshots would count among those that are kept, and push out the
// good one.
absl::Status SetAsideDamaged(const Recovered& recovered, SnapshotStore& snapshots);

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_JOURNAL_RECOVERY_H_
