// Where the loop hangs out its latest view, and readers take it.
//
// Thread-safe.
#ifndef SCHEDULER_VIEW_BOARD_H_
#define SCHEDULER_VIEW_BOARD_H_

#include <functional>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "scheduler/core/view.h"

namespace pipefill::scheduler {

class ViewBoard {
 public:
  // `on_publish` (may be empty) runs after each Publish, on its thread; it must not block.
  explicit ViewBoard(std::function<void()> on_publish = nullptr)
      : on_publish_(std::move(on_publish)) {}

  void Publish(std::shared_ptr<const ClusterView> view) {
    {
      absl::MutexLock lock(&mutex_);
      view_.swap(view);
    }
    // The old view is let go after the lock.
    if (on_publish_) on_publish_();
  }

  // Never null.
  std::shared_ptr<const ClusterView> Latest() const {
    absl::MutexLock lock(&mutex_);
    return view_;
  }

 private:
  const std::function<void()> on_publish_;
  // Held for the copy of one pointer: readers must not queue on the loop for it.
  mutable absl::Mutex mutex_;
  std::shared_ptr<const ClusterView> view_ ABSL_GUARDED_BY(mutex_) =
      std::make_shared<const ClusterView>();
};

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_VIEW_BOARD_H_
