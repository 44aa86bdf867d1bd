#include "scheduler/journal/snapshot_thread.h"

namespace pipefill::scheduler {

SnapshotThread::SnapshotThread(SnapshotStore& store)
    : store_(store), thread_("snapshot", [this] { Run(); }) {}

SnapshotThread::~SnapshotThread() {
  // Under the lock, so that the waiting thread looks again.
  absl::MutexLock lock(&mutex_);
  is_stopping_ = true;
}

void SnapshotThread::Write(FrameWriter snapshot, Done done) {
  absl::MutexLock lock(&mutex_);
  order_.emplace(Order{std::move(snapshot), std::move(done)});
}

void SnapshotThread::Run() {
  while (true) {
    std::optional<Order> order;
    {
      absl::MutexLock lock(&mutex_);
      const auto is_due = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return order_.has_value() || is_stopping_;
      };
      mutex_.Await(absl::Condition(&is_due));
      order.swap(order_);
    }
    if (is_stopping_) return;
    absl::Status written = store_.Write(std::move(order->snapshot), is_stopping_);
    if (written.ok()) written = store_.RemoveOlder(kSnapshotsKept);
    if (is_stopping_) return;
    order->done(written);
  }
}

}  // namespace pipefill::scheduler
