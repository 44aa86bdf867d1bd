// What waits for the scheduler loop. All that gathers while one batch is made durable becomes the
// next batch, so the sync is shared by everybody who waits.
//
// Thread-safe.
#ifndef SCHEDULER_INBOX_H_
#define SCHEDULER_INBOX_H_

#include <cstddef>
#include <deque>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "scheduler/message.h"

namespace pipefill::scheduler {

class Inbox {
 public:
  // `requests_max`: requests of users that may wait; one more is refused. A message with many jobs
  // counts as many.
  explicit Inbox(size_t requests_max) : requests_max_(requests_max) {}

  enum class Pushed {
    kFirst,    // the inbox was empty: somebody has to wake the loop
    kBehind,   // others wait already, and so the loop is awake
    kRefused,  // too many requests wait
  };
  Pushed Push(Message message);

  // The next messages in order, until they make up `limit`.
  std::vector<Message> Take(size_t limit);
  bool is_empty() const;
  // Requests of users that wait.
  size_t requests() const;

 private:
  const size_t requests_max_;
  // Messages come from many gRPC threads; posting each to the loop alone would give each its own
  // sync.
  mutable absl::Mutex mutex_;
  std::deque<Message> messages_ ABSL_GUARDED_BY(mutex_);
  size_t requests_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_INBOX_H_
