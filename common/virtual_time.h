// Clock and loop for tests and the simulator: time moves only on request, so a run repeats exactly.
//
// Thread-compatible: used from one thread.
#ifndef COMMON_VIRTUAL_TIME_H_
#define COMMON_VIRTUAL_TIME_H_

#include <cstdint>
#include <deque>
#include <map>
#include <utility>

#include "absl/time/time.h"
#include "common/clock.h"
#include "common/loop.h"

namespace pipefill {

class VirtualTime : public Clock, public Loop {
 public:
  // Starts at a fixed instant and a fixed wall time.
  VirtualTime();

  Instant Now() const override { return now_; }
  absl::Time WallNow() const override;
  void Post(Callback callback) override;
  TimerId PostAt(Instant at, Callback callback) override;
  void Cancel(TimerId timer) override;

  // Runs what is posted, and what that posts, without moving time.
  void RunReady();
  // Runs everything due up to and including `to`, in order of time, then of posting. Ends at `to`.
  void AdvanceTo(Instant to);
  void AdvanceBy(absl::Duration by) { AdvanceTo(now_ + by); }
  // Somebody sets the wall clock, forward or back.
  void JumpWall(absl::Duration by) { wall_offset_ += by; }

 private:
  Instant now_;
  absl::Duration wall_offset_ = absl::ZeroDuration();
  TimerId next_timer_ = 1;
  std::deque<Callback> ready_;
  std::map<std::pair<Instant, TimerId>, Callback> timers_;
  // Where each timer stands in `timers_`.
  std::map<TimerId, Instant> timer_instants_;
};

}  // namespace pipefill

#endif  // COMMON_VIRTUAL_TIME_H_
