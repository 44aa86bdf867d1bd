// Which jobs have changed, in order, for all who watch jobs: a ring of ids that they share, and the
// view that holds the jobs themselves.
//
//   published views --Advance--> differences --> [begin, end) of the ring --Slice--> readers
//
// The ring holds no states: a reader looks each id up in the latest view. So however slow a reader
// is, what it gets is never older than what it had, and it keeps nothing alive.
//
// Pure. Thread-compatible.
#ifndef SCHEDULER_WATCH_WATCH_LOG_H_
#define SCHEDULER_WATCH_WATCH_LOG_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "common/ids.h"
#include "common/instant.h"
#include "scheduler/core/view.h"

namespace pipefill::scheduler {

using SharedView = std::shared_ptr<const ClusterView>;

// A part of the ring, and the view that goes with its end.
struct WatchSlice {
  uint64_t begin = 0;  // of the ring: what came before is not kept
  uint64_t end = 0;
  uint64_t from = 0;  // position of the first of `ids`
  std::vector<JobId> ids;
  SharedView view;
};

class WatchLog {
 public:
  // At most `changes_max` ids are kept, > 0.
  explicit WatchLog(size_t changes_max) : changes_max_(changes_max) {}

  // Begins anew with `view`; positions before are not kept.
  void Restart(SharedView view, Instant now);
  // Lets go of all views, until Restart.
  void Stop();

  // Takes up a later view. Returns the jobs in which anything but progress has changed; they are in
  // the ring. REQUIRES: after Restart; likewise for all below.
  std::vector<JobId> Advance(SharedView view);
  // The waiting jobs that have changed, or wait for another reason, since the last call. Looks at
  // every job.
  std::vector<JobId> AdvanceReasons(Instant now);
  // The jobs whose progress has changed since the last call.
  std::vector<JobId> AdvanceProgress();

  uint64_t begin() const { return end_ - changes_.size(); }
  uint64_t end() const { return end_; }
  const SharedView& view() const { return view_; }
  // At most `limit` ids from `position` on; none if it lies outside of the ring.
  WatchSlice Slice(uint64_t position, size_t limit) const;

 private:
  void Append(const std::vector<JobId>& ids);

  const size_t changes_max_;
  // The last is at end_ - 1.
  std::deque<JobId> changes_;
  uint64_t end_ = 0;
  SharedView view_;
  // As of the last call of the two above.
  SharedView reasons_view_;
  Instant reasons_at_;
  SharedView progress_view_;
};

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_WATCH_WATCH_LOG_H_
