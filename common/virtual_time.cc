#include "common/virtual_time.h"

#include <algorithm>
#include <utility>

#include "common/check.h"

namespace pipefill {
namespace {

// Any values do, if they never change. Not zero, so that a forgotten addition shows.
constexpr Instant kStart = Instant::FromNs(1'000'000'000'000);
constexpr int64_t kWallStartSeconds = 1'700'000'000;

}  // namespace

VirtualTime::VirtualTime() : now_(kStart) {}

absl::Time VirtualTime::WallNow() const {
  return absl::FromUnixSeconds(kWallStartSeconds) + (now_ - kStart) + wall_offset_;
}

void VirtualTime::Post(Callback callback) { ready_.push_back(std::move(callback)); }

Loop::TimerId VirtualTime::PostAt(Instant at, Callback callback) {
  const TimerId id = next_timer_++;
  timers_.emplace(std::pair(at, id), std::move(callback));
  timer_instants_.emplace(id, at);
  return id;
}

void VirtualTime::Cancel(TimerId timer) {
  const auto found = timer_instants_.find(timer);
  if (found == timer_instants_.end()) return;
  timers_.erase(std::pair(found->second, timer));
  timer_instants_.erase(found);
}

void VirtualTime::RunReady() {
  while (!ready_.empty()) {
    const Callback callback = std::move(ready_.front());
    ready_.pop_front();
    callback();
  }
}

void VirtualTime::AdvanceTo(Instant to) {
  CHECK(to >= now_);
  RunReady();
  while (!timers_.empty() && timers_.begin()->first.first <= to) {
    const auto first = timers_.begin();
    const auto [at, id] = first->first;
    const Callback callback = std::move(first->second);
    timers_.erase(first);
    timer_instants_.erase(id);
    now_ = std::max(now_, at);
    callback();
    RunReady();
  }
  now_ = to;
}

}  // namespace pipefill
