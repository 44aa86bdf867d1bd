// The loop and the clocks of one process on a simulated machine: it stands still while the process
// hangs, and what it was to run is forgotten when the process dies.
//
// The monotonic clock of a machine counts from its own start: times of one mean nothing on another.
//
// Thread-compatible: used from one thread.
#ifndef SIMULATOR_FAULTS_PROCESS_LOOP_H_
#define SIMULATOR_FAULTS_PROCESS_LOOP_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <set>

#include "absl/time/time.h"
#include "common/clock.h"
#include "common/instant.h"
#include "common/loop.h"
#include "common/virtual_time.h"

namespace pipefill::simulator {

// What a machine's clocks show, against the world's.
struct MachineClock {
  absl::Duration monotonic_ahead;
  absl::Duration wall_ahead;
};

class ProcessLoop : public Loop, public Clock {
 public:
  // Both outlive the loop. What is set in `clock` holds at once.
  ProcessLoop(VirtualTime& world, const MachineClock& clock);
  // kill -9.
  ~ProcessLoop() override;
  ProcessLoop(const ProcessLoop&) = delete;
  ProcessLoop& operator=(const ProcessLoop&) = delete;

  void Post(Callback callback) override;
  TimerId PostAt(Instant at, Callback callback) override;
  void Cancel(TimerId timer) override;
  Instant Now() const override { return world_.Now() + clock_.monotonic_ahead; }
  absl::Time WallNow() const override { return world_.WallNow() + clock_.wall_ahead; }

  // Nothing runs for so long from now on. The longer one counts.
  void HangFor(absl::Duration duration);
  // By the world's clock: when what the process does now is seen by others.
  Instant awake_at() const { return awake_at_ > world_.Now() ? awake_at_ : world_.Now(); }

 private:
  struct Due {
    TimerId timer = 0;  // 0 = none
    Callback callback;
  };

  void Enqueue(Due due);
  void ScheduleTurn();
  void RunOne();

  VirtualTime& world_;
  const MachineClock& clock_;
  // False once this is gone.
  const std::shared_ptr<bool> is_alive_ = std::make_shared<bool>(true);
  std::deque<Due> ready_;
  bool is_turn_scheduled_ = false;
  Instant awake_at_;
  Instant turned_at_;
  int64_t turns_now_ = 0;  // at that instant
  TimerId next_timer_ = 1;
  std::set<TimerId> timers_;  // that have not run
};

}  // namespace pipefill::simulator

#endif  // SIMULATOR_FAULTS_PROCESS_LOOP_H_
