#include "simulator/faults/process_loop.h"

#include <algorithm>
#include <utility>

#include "common/check.h"

namespace pipefill::simulator {
namespace {

constexpr int64_t kTurnsAtOnceMax = 1'000'000;

}  // namespace

ProcessLoop::ProcessLoop(VirtualTime& world, const MachineClock& clock)
    : world_(world), clock_(clock), awake_at_(world.Now()) {}

ProcessLoop::~ProcessLoop() { *is_alive_ = false; }

void ProcessLoop::Post(Callback callback) { Enqueue({0, std::move(callback)}); }

Loop::TimerId ProcessLoop::PostAt(Instant at, Callback callback) {
  const TimerId timer = next_timer_++;
  timers_.insert(timer);
  // An Instant far away stays so, whatever the clocks are apart.
  const Instant due = world_.Now() + (at - Now());
  world_.PostAt(due, [this, is_alive = is_alive_, timer, callback = std::move(callback)] {
    if (*is_alive) Enqueue({timer, callback});
  });
  return timer;
}

void ProcessLoop::Cancel(TimerId timer) { timers_.erase(timer); }

void ProcessLoop::HangFor(absl::Duration duration) {
  awake_at_ = std::max(awake_at_, world_.Now() + duration);
}

void ProcessLoop::Enqueue(Due due) {
  ready_.push_back(std::move(due));
  ScheduleTurn();
}

void ProcessLoop::ScheduleTurn() {
  if (is_turn_scheduled_ || ready_.empty()) return;
  is_turn_scheduled_ = true;
  const auto turn = [this, is_alive = is_alive_] {
    if (!*is_alive) return;
    is_turn_scheduled_ = false;
    if (awake_at_ <= world_.Now()) RunOne();
    if (*is_alive) ScheduleTurn();
  };
  if (awake_at_ > world_.Now()) {
    world_.PostAt(awake_at_, turn);
  } else {
    world_.Post(turn);
  }
}

void ProcessLoop::RunOne() {
  turns_now_ = world_.Now() == turned_at_ ? turns_now_ + 1 : 0;
  turned_at_ = world_.Now();
  CHECK(turns_now_ < kTurnsAtOnceMax);  // it does not come to rest
  Due due = std::move(ready_.front());
  ready_.pop_front();
  if (due.timer != 0 && timers_.erase(due.timer) == 0) return;
  due.callback();
}

}  // namespace pipefill::simulator
