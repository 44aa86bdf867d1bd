// Puts the ends of attempts on disk while the agent loop goes on: a disk may take seconds for a
// sync, and gates close when the loop stands still for one.
//
// The end itself lies in the attempt's folder by then (tasks/attempt_folders.h), where it survives
// agentd; from here on it survives the node as well.
//
// Thread-safe.
#ifndef AGENT_END_SYNC_H_
#define AGENT_END_SYNC_H_

#include <deque>
#include <functional>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "agent/tasks/attempt.h"
#include "common/owner_thread.h"

namespace pipefill {

class EndSync {
 public:
  using Done = std::function<void(const absl::Status&)>;

  // `sync` does it for one attempt, and may block.
  explicit EndSync(std::function<absl::Status(const AttemptKey&)> sync);
  // Waits for the one under way; those that wait are not synced, and their `done` is not called.
  ~EndSync();
  EndSync(const EndSync&) = delete;
  EndSync& operator=(const EndSync&) = delete;

  // Returns at once. `done` is called on a thread of its own, in the order of the calls. The queue
  // is as long as there are attempts whose end has not been told yet (EndReports).
  void Sync(const AttemptKey& key, Done done);

 private:
  struct Order {
    AttemptKey key;
    Done done;
  };

  void Run();

  const std::function<absl::Status(const AttemptKey&)> sync_;
  absl::Mutex mutex_;
  std::deque<Order> orders_ ABSL_GUARDED_BY(mutex_);
  bool is_stopping_ ABSL_GUARDED_BY(mutex_) = false;
  OwnerThread thread_;
};

}  // namespace pipefill

#endif  // AGENT_END_SYNC_H_
