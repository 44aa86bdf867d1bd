#include "common/clock.h"

#include <time.h>

#include <cstdint>

namespace pipefill {
namespace {

int64_t ReadClockNs(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

class OsClock : public Clock {
 public:
  Instant Now() const override { return Instant::FromNs(ReadClockNs(CLOCK_MONOTONIC)); }
  absl::Time WallNow() const override { return absl::FromUnixNanos(ReadClockNs(CLOCK_REALTIME)); }
};

}  // namespace

const Clock& SystemClock() {
  static const OsClock clock;
  return clock;
}

}  // namespace pipefill
