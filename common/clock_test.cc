#include "common/clock.h"

#include <gtest/gtest.h>
#include <time.h>

namespace pipefill {
namespace {

TEST(SystemClockTest, ReadsTheMonotonicClock) {
  timespec before{};
  clock_gettime(CLOCK_MONOTONIC, &before);
  const Instant now = SystemClock().Now();
  timespec after{};
  clock_gettime(CLOCK_MONOTONIC, &after);
  EXPECT_GE(now.ns(), before.tv_sec * 1'000'000'000 + before.tv_nsec);
  EXPECT_LE(now.ns(), after.tv_sec * 1'000'000'000 + after.tv_nsec);
}

TEST(SystemClockTest, NeverGoesBack) {
  Instant last = SystemClock().Now();
  for (int reading = 0; reading < 10'000; ++reading) {
    const Instant now = SystemClock().Now();
    ASSERT_GE(now, last);
    last = now;
  }
}

TEST(SystemClockTest, WallTimeIsThisCenturys) {
  EXPECT_GT(SystemClock().WallNow(), absl::FromUnixSeconds(1'600'000'000));
  EXPECT_LT(SystemClock().WallNow(), absl::FromUnixSeconds(4'000'000'000));
}

}  // namespace
}  // namespace pipefill
