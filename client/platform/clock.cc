#include "client/platform/clock.h"

#include <time.h>

namespace pipefill::sdk {
namespace {

uint64_t ReadNs(clockid_t clock) {
  timespec now = {};
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace

uint64_t SystemClock::NowNs() const { return ReadNs(CLOCK_MONOTONIC); }

uint64_t SystemClock::ProcessCpuNs() const { return ReadNs(CLOCK_PROCESS_CPUTIME_ID); }

}  // namespace pipefill::sdk
