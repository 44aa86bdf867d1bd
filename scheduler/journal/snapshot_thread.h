// Writes snapshots while the loop goes on.
//
// Thread-safe.
#ifndef SCHEDULER_JOURNAL_SNAPSHOT_THREAD_H_
#define SCHEDULER_JOURNAL_SNAPSHOT_THREAD_H_

#include <atomic>
#include <functional>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "common/owner_thread.h"
#include "scheduler/journal/snapshot_store.h"

namespace pipefill::scheduler {

// Snapshots that are kept: the newest one, and one more in case it cannot be read some day.
inline constexpr size_t kSnapshotsKept = 2;

class SnapshotWriter {
 public:
  using Done = std::function<void(const absl::Status&)>;

  virtual ~SnapshotWriter() = default;
  // Returns at once; `done` is called on any thread, once the snapshot is on disk and the ones that
  // are too many are removed, or with the error. REQUIRES: none is being written.
  virtual void Write(FrameWriter snapshot, Done done) = 0;
};

class SnapshotThread : public SnapshotWriter {
 public:
  // `store` outlives it.
  explicit SnapshotThread(SnapshotStore& store);
  // Gives up what is being written; `done` is then not called any more.
  ~SnapshotThread() override;

  void Write(FrameWriter snapshot, Done done) override;

 private:
  struct Order {
    FrameWriter snapshot;
    Done done;
  };

  void Run();

  SnapshotStore& store_;
  std::atomic<bool> is_stopping_ = false;
  absl::Mutex mutex_;
  std::optional<Order> order_ ABSL_GUARDED_BY(mutex_);
  OwnerThread thread_;
};

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_JOURNAL_SNAPSHOT_THREAD_H_
