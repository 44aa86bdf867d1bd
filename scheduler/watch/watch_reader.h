// One watcher's way through the log: the state first, job by job in the order of their ids, then
// the changes.
//
//                    walk is done, and all changes are read
//   kWalking ------------------------------------------------> kFollowing
//      ^                                                           |
//      +--- position is not in the ring (any more): a reset -------+
//
// While it walks, a reader takes up the changes of those jobs that it has passed already; the walk
// will come to the others. So no view has to be kept for it, and a slow walk does not outlast the
// ring by itself.
//
// Pure. Thread-compatible.
#ifndef SCHEDULER_WATCH_WATCH_READER_H_
#define SCHEDULER_WATCH_WATCH_READER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "scheduler/core/job.h"
#include "scheduler/watch/watch_log.h"

namespace pipefill::scheduler {

struct WatchFilter {
  std::vector<JobId> jobs = {};  // in order, none twice; empty = all
  bool is_active_only = false;
  std::string tenant = {};  // empty = all

  bool TakesId(JobId id) const;
  bool Takes(const Job& job) const;

  template <typename H>
  friend H AbslHashValue(H hash, const WatchFilter& filter) {
    return H::combine(std::move(hash), filter.jobs, filter.is_active_only, filter.tenant);
  }
};

enum class WatchResetCause { kStart, kOtherBoot, kTooOld, kDropped, kOtherFilter };

// What a watcher is told next, see proto/watch.proto.
struct WatchBatch {
  std::optional<WatchResetCause> reset;
  uint64_t dropped = 0;          // with kTooOld and kDropped
  std::vector<const Job*> jobs;  // live as long as `view`
  std::vector<JobId> gone;
  bool is_synced = false;            // all is read; once after a reset or a return
  std::optional<uint64_t> position;  // to go on from; absent while it walks
  SharedView view;

  bool is_empty() const { return !reset && jobs.empty() && gone.empty() && !is_synced; }
};

class WatchReader {
 public:
  // Begins with the state.
  WatchReader(WatchFilter filter, WatchResetCause cause)
      : filter_(std::move(filter)), cause_(cause) {}
  // Goes on at `position`.
  WatchReader(WatchFilter filter, uint64_t position)
      : filter_(std::move(filter)),
        position_(position),
        is_resuming_(true),
        is_walking_(false),
        is_walk_done_(true) {}

  const WatchFilter& filter() const { return filter_; }
  uint64_t position() const { return position_; }
  bool is_walking() const { return is_walking_; }
  // Nothing that concerns this reader lies before `position`. Ignored while it walks.
  void SkipTo(uint64_t position);

  // Reads on, by at most about `jobs_max` jobs. An empty batch: look again with another slice, if
  // has_more, else when the log has grown. REQUIRES: `slice` begins at position().
  WatchBatch Read(const WatchSlice& slice, size_t jobs_max);
  // Whether there was more to read at the last call.
  bool has_more() const { return has_more_; }

 private:
  void Reset(const WatchSlice& slice, WatchBatch* batch);
  void TakeChanges(const WatchSlice& slice, size_t jobs_max, WatchBatch* batch);
  void Walk(size_t jobs_max, WatchBatch* batch);
  void WalkNamed(size_t jobs_max, WatchBatch* batch);

  const WatchFilter filter_;
  // Why the next walk begins; nullopt = it has begun, or a reader that follows has fallen behind.
  std::optional<WatchResetCause> cause_;
  uint64_t position_ = 0;
  bool is_resuming_ = false;  // until the first read
  bool is_walking_ = true;
  JobId walk_;  // jobs below are told
  bool is_walk_done_ = false;
  bool is_synced_ = false;
  bool has_more_ = true;
};

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_WATCH_WATCH_READER_H_
