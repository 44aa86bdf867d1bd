// Tells all who watch jobs, and all who wait for one, that something has changed.
//
//   scheduler loop --publishes--> board --OnPublished--> edge loop: Advance the log, wake watchers
//   watcher --Next--> its next batch, from the log and the view; nothing yet = it is woken later
//
// The scheduler loop is never waited for, and never waits: it posts one callback at most. What is
// shared is the log; of a watcher the hub keeps its filter and its place. A watcher that does not
// read is not woken, and falls behind the ring (WatchResetCause::kDropped).
//
// While nobody watches, and for some time after, nothing is done at all.
//
// Thread-safe, but for what runs on the edge loop. Watchers are woken with no lock held.
#ifndef SCHEDULER_WATCH_WATCH_HUB_H_
#define SCHEDULER_WATCH_WATCH_HUB_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/ids.h"
#include "common/loop.h"
#include "scheduler/limits.h"
#include "scheduler/view_board.h"
#include "scheduler/watch/watch_log.h"
#include "scheduler/watch/watch_reader.h"

namespace pipefill::scheduler {

// One watcher; unique while schedulerd runs.
using WatcherId = Id<struct WatcherTag, uint64_t>;

class Watcher {
 public:
  virtual ~Watcher() = default;
  // There may be something new; asks for Next until there is nothing. Must not block.
  virtual void Wake() = 0;
  // It has read everything up to `position`, and nothing that it takes has changed for some time.
  virtual void OnQuiet(uint64_t position) = 0;
};

struct WatchTimes {
  // Changes are taken up this long after the last ones, or after four times what that took.
  absl::Duration pass_rest = absl::Milliseconds(2);
  // Reasons are compared no more often than this, and than twenty times what it takes.
  absl::Duration reasons_every = absl::Seconds(1);
  absl::Duration progress_every = absl::Seconds(5);
  absl::Duration quiet_every = absl::Seconds(10);
  // How long after the last watcher changes are kept for those who come back.
  absl::Duration keep = absl::Minutes(1);
};

class WatchHub {
 public:
  // All outlive the hub; `edge` is not the scheduler loop.
  struct Dependencies {
    const Clock& clock;
    Loop& edge;
    const ViewBoard& board;
  };

  // Of `limits`: watchers_max, watchers_per_peer_max, waits_max, watch_log_max.
  WatchHub(const Dependencies& dependencies, const Limits& limits, const WatchTimes& times = {});

  // The board has a new view. Does not block.
  void OnPublished();

  // Enters a watcher of `jobs` (in order; empty = all), which asks for Next then, and after each
  // Wake. What was published before is in the log. ResourceExhausted: a limit, named.
  absl::StatusOr<WatcherId> Enter(std::shared_ptr<Watcher> watcher, const std::vector<JobId>& jobs,
                                  const std::string& peer);
  // Enters one that waits for the end of `job`: it is woken after every change of it, and looks at
  // view().
  absl::StatusOr<WatcherId> EnterWait(std::shared_ptr<Watcher> watcher, JobId job);
  // It is not woken any more, but for a call that has begun. Does nothing the second time.
  void Leave(WatcherId watcher);

  // What `reader`, of that watcher, is told next, with at most about `jobs_max` jobs; nullopt:
  // nothing yet. Never an empty batch.
  std::optional<WatchBatch> Next(WatcherId watcher, size_t jobs_max, WatchReader* reader);
  // The view that was last taken up. Never null while a watcher is entered.
  SharedView view();

  struct Use {
    int64_t watchers = 0;
    int64_t waits = 0;
  };
  Use use();

 private:
  struct Entry {
    std::shared_ptr<Watcher> watcher;
    std::vector<JobId> jobs;
    std::string peer;
    bool is_wait = false;
    // Has read everything, and is woken by the next change of its jobs.
    bool is_parked = false;
    bool was_told = true;   // something, since the last look for quiet ones
    uint64_t clear_to = 0;  // nothing before this position concerns it
  };
  using Woken = std::vector<std::shared_ptr<Watcher>>;

  int64_t Watchers() const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  absl::Status CheckRoom(const std::string& peer) const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  WatcherId Add(Entry entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes up the latest view, and wakes.
  void Advance();
  // Those to be woken for `changed`, the last entries of the log.
  Woken TakeWoken(const std::vector<JobId>& changed) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static void Unpark(Entry& entry, uint64_t clear_to, Woken* woken);

  // --- On the edge loop ---

  void RunPass();
  void RunTick();
  void TellQuiet();

  const Dependencies dependencies_;
  const Limits limits_;
  const WatchTimes times_;
  // Read by OnPublished as well, which must not wait for the lock.
  std::atomic<bool> is_active_ = false;
  std::atomic<bool> is_pass_due_ = false;

  // Watchers come and go on gRPC's threads; passes run on the edge loop.
  absl::Mutex mutex_;
  WatchLog log_ ABSL_GUARDED_BY(mutex_);
  absl::btree_map<WatcherId, Entry> entries_ ABSL_GUARDED_BY(mutex_);
  // Of those that named jobs; the others are looked at after every change.
  absl::btree_set<std::pair<JobId, WatcherId>> by_job_ ABSL_GUARDED_BY(mutex_);
  absl::btree_set<WatcherId> of_all_jobs_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, int64_t> by_peer_ ABSL_GUARDED_BY(mutex_);
  int64_t waits_ ABSL_GUARDED_BY(mutex_) = 0;
  WatcherId last_ ABSL_GUARDED_BY(mutex_);

  // Used on the edge loop only.
  Instant pass_not_before_;
  Instant reasons_not_before_;
  Instant progress_not_before_;
  Instant quiet_not_before_;
  std::optional<Instant> alone_since_;
};

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_WATCH_WATCH_HUB_H_
