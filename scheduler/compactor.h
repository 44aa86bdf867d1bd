// Keeps the journal short: has a snapshot written when enough records have come, then removes, bit
// by bit, the records that the snapshot before it stands for. So a restart reads one snapshot and
// few records, and there is always a second snapshot with all records after it.
//
//   records     ....|====================|====================|=======>
//                   ^ older snapshot     ^ newest snapshot            ^ last
//   removed     <---
//
// Thread-compatible: belongs to the scheduler loop.
#ifndef SCHEDULER_COMPACTOR_H_
#define SCHEDULER_COMPACTOR_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/loop.h"
#include "scheduler/core/cluster_state.h"
#include "scheduler/journal/journal.h"
#include "scheduler/journal/snapshot_thread.h"

namespace pipefill::scheduler {

// What is known of the store when the loop starts.
struct StoreSummary {
  int64_t snapshot_sequence = 0;  // of the newest snapshot; 0 = none
  int64_t older_snapshot_sequence = 0;
  absl::Time snapshot_at = absl::InfinitePast();
};

class Compactor {
 public:
  // All outlive it. `snapshots` may be nullptr: then the journal is never shortened.
  struct Dependencies {
    Loop& loop;
    const Clock& clock;
    Journal& journal;
    SnapshotWriter* snapshots;
    std::function<void(const absl::Status&)> on_fatal;
    // A snapshot is on disk.
    std::function<void()> on_written;
  };
  struct Limits {
    // A snapshot is taken after this many records, or a quarter of the jobs if that is more.
    int64_t snapshot_every = 100'000;
    // Records that are removed at a time, and the pause between.
    int64_t slice = 2'000;
    absl::Duration slice_pause = absl::Milliseconds(20);
    absl::Duration retry_pause = absl::Seconds(10);
  };

  Compactor(Dependencies dependencies, const Limits& limits, const StoreSummary& store);

  // Goes on with what was not finished before a restart.
  void Start();
  // Call when all that was applied to `state` is in the journal.
  void OnCommitted(ClusterState& state);

  // Records that a restart would replay.
  int64_t tail() const { return dependencies_.journal.last_sequence() - store_.snapshot_sequence; }
  absl::Time snapshot_at() const { return store_.snapshot_at; }

 private:
  void OnWritten(const SnapshotStamp& stamp, const absl::Status& written);
  void RemoveSlice();

  const Dependencies dependencies_;
  const Limits limits_;
  StoreSummary store_;
  bool is_writing_ = false;
  bool is_removing_ = false;
  Instant not_before_;  // after a failure
  // For what comes back from the writer when this object may be gone.
  const std::shared_ptr<bool> is_alive_ = std::make_shared<bool>(true);
};

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_COMPACTOR_H_
