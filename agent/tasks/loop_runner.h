// A real loop on its own thread, for tests: what belongs to the loop is touched with Do, and waited
// for with RunUntil.
//
// Thread-compatible: used by the test's thread.
#ifndef AGENT_TASKS_LOOP_RUNNER_H_
#define AGENT_TASKS_LOOP_RUNNER_H_

#include <functional>
#include <memory>
#include <optional>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "common/loop.h"
#include "common/owner_thread.h"

namespace pipefill {

class LoopRunner {
 public:
  LoopRunner() : loop_(EventLoop::Create()) {
    thread_.emplace("test-loop", [this] { loop_->Run(); });
  }
  ~LoopRunner() { Stop(); }

  EventLoop& loop() { return *loop_; }

  // Runs `body` on the loop and waits for it.
  void Do(const std::function<void()>& body) {
    absl::Notification done;
    loop_->Post([&] {
      body();
      done.Notify();
    });
    done.WaitForNotification();
  }

  // Asks on the loop every millisecond. False if `limit` passed first, which only a broken test
  // lets happen.
  bool RunUntil(std::function<bool()> is_done, absl::Duration limit = absl::Seconds(20)) {
    absl::Notification over;
    bool is_in_time = true;
    const Instant end = loop_->Now() + limit;
    const std::function<void()> look = [&] {
      if (is_done()) return over.Notify();
      is_in_time = loop_->Now() < end;
      if (!is_in_time) return over.Notify();
      loop_->PostAt(loop_->Now() + absl::Milliseconds(1), look);
    };
    loop_->Post(look);
    over.WaitForNotification();
    return is_in_time;
  }

  // From then on the test's thread may touch everything.
  void Stop() {
    loop_->Stop();
    thread_.reset();
  }

 private:
  const std::unique_ptr<EventLoop> loop_;
  std::optional<OwnerThread> thread_;
};

}  // namespace pipefill

#endif  // AGENT_TASKS_LOOP_RUNNER_H_
