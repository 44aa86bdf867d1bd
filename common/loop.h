// The loop that owns a component's state: everything posted to it runs on one thread, in order.
//
// Post is thread-safe; all else is called on the loop's own thread. Callbacks must not throw.
#ifndef COMMON_LOOP_H_
#define COMMON_LOOP_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "common/instant.h"

namespace pipefill {

class Loop {
 public:
  using Callback = std::function<void()>;
  // Unique inside one loop; 0 is never used.
  using TimerId = uint64_t;

  virtual ~Loop() = default;

  // Runs `callback` soon, after everything posted before. Thread-safe.
  virtual void Post(Callback callback) = 0;
  // Runs `callback` once, not before `at`. Timers of equal time run in the order of their making.
  virtual TimerId PostAt(Instant at, Callback callback) = 0;
  // Does nothing if the timer has run or was cancelled.
  virtual void Cancel(TimerId timer) = 0;
  virtual Instant Now() const = 0;
};

// Runs on the thread that calls Run.
class EventLoop : public Loop {
 public:
  using WatchId = uint64_t;

  static std::unique_ptr<EventLoop> Create();

  // Returns after Stop. What is posted later does not run.
  virtual void Run() = 0;
  // Thread-safe; also from a callback.
  virtual void Stop() = 0;
  // Calls `callback` whenever `fd` is readable, at its end, or in error, until Unwatch. The loop
  // does not own `fd`, which must stay open until then, makes it non-blocking, and watches it once
  // only. REQUIRES: on the loop's thread, or before Run.
  virtual WatchId WatchReadable(int fd, Callback callback) = 0;
  virtual void Unwatch(WatchId watch) = 0;
  // Calls `callback` on SIGINT and SIGTERM instead of ending the process.
  virtual void OnTermination(Callback callback) = 0;
};

}  // namespace pipefill

#endif  // COMMON_LOOP_H_
