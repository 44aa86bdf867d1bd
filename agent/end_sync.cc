#include "agent/end_sync.h"

#include <utility>

namespace pipefill {

EndSync::EndSync(std::function<absl::Status(const AttemptKey&)> sync)
    : sync_(std::move(sync)), thread_("end-sync", [this] { Run(); }) {}

EndSync::~EndSync() {
  // Under the lock, so that the waiting thread looks again.
  absl::MutexLock lock(&mutex_);
  is_stopping_ = true;
}

void EndSync::Sync(const AttemptKey& key, Done done) {
  absl::MutexLock lock(&mutex_);
  orders_.push_back({.key = key, .done = std::move(done)});
}

void EndSync::Run() {
  while (true) {
    Order order;
    {
      absl::MutexLock lock(&mutex_);
      const auto is_due = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return !orders_.empty() || is_stopping_;
      };
      mutex_.Await(absl::Condition(&is_due));
      if (is_stopping_) return;
      order = std::move(orders_.front());
      orders_.pop_front();
    }
    order.done(sync_(order.key));
  }
}

}  // namespace pipefill
