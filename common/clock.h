// Time, as a constructor argument. Only clock.cc and loop.cc ask the operating system.
//
// Thread-safe.
#ifndef COMMON_CLOCK_H_
#define COMMON_CLOCK_H_

#include "absl/time/time.h"
#include "common/instant.h"

namespace pipefill {

class Clock {
 public:
  virtual ~Clock() = default;
  // For intervals and deadlines. Never goes back.
  virtual Instant Now() const = 0;
  // For people and journal records only; may jump.
  virtual absl::Time WallNow() const = 0;
};

// The real clock. Lives for the whole program.
const Clock& SystemClock();

}  // namespace pipefill

#endif  // COMMON_CLOCK_H_
