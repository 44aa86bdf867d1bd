#include "agent/learn/overrun_guard.h"

#include <gtest/gtest.h>

#include <limits>

namespace pipefill {
namespace {

constexpr int64_t kMs = 1'000'000;
constexpr double kLambda = 0.2;
constexpr int64_t kMedianNs = 20 * kMs;

class OverrunGuardTest : public testing::Test {
 protected:
  // Bubbles with one unit of 10 ms each.
  bool Use(int64_t bubbles, int64_t overrun_each_ns) {
    use_.bubbles += bubbles;
    use_.unit_cpu_ns += bubbles * 10 * kMs;
    use_.overrun_ns += bubbles * overrun_each_ns;
    return guard_.Update(use_, kLambda, kMedianNs);
  }

  BubbleUse use_;
  OverrunGuard guard_;
};

TEST_F(OverrunGuardTest, OverrunAsPromisedNeedsNoGuard) {
  EXPECT_FALSE(Use(kGuardBubbles, 2 * kMs));
  EXPECT_EQ(guard_.guard_ns(), 0);
}

TEST_F(OverrunGuardTest, GrowsByWhatGoesBeyondThePromise) {
  EXPECT_TRUE(Use(kGuardBubbles, 3 * kMs));
  EXPECT_EQ(guard_.guard_ns(), kMs);
  EXPECT_TRUE(Use(kGuardBubbles, 3 * kMs));
  EXPECT_EQ(guard_.guard_ns(), 2 * kMs);
}

TEST_F(OverrunGuardTest, WaitsForEnoughBubbles) {
  EXPECT_FALSE(Use(kGuardBubbles - 1, 9 * kMs));
  EXPECT_TRUE(Use(1, 9 * kMs));
  EXPECT_EQ(guard_.guard_ns(), 7 * kMs);
}

TEST_F(OverrunGuardTest, IsNeverMoreThanHalfOfTheBubble) {
  for (int i = 0; i < 10; ++i) Use(kGuardBubbles, 9 * kMs);
  EXPECT_EQ(guard_.guard_ns(), kMedianNs / 2);
  use_.bubbles += kGuardBubbles;
  use_.overrun_ns = std::numeric_limits<int64_t>::max();
  guard_.Update(use_, kLambda, kMedianNs);
  EXPECT_EQ(guard_.guard_ns(), kMedianNs / 2);
}

TEST_F(OverrunGuardTest, ShrinksToNothingOnceUnderThePromise) {
  Use(kGuardBubbles, 10 * kMs);
  for (int i = 0; i < 30; ++i) Use(kGuardBubbles, kMs);
  EXPECT_EQ(guard_.guard_ns(), 0);
}

TEST_F(OverrunGuardTest, FollowsABubbleThatShrank) {
  Use(kGuardBubbles, 9 * kMs);
  use_.bubbles += kGuardBubbles;
  EXPECT_TRUE(guard_.Update(use_, kLambda, 2 * kMs));
  EXPECT_EQ(guard_.guard_ns(), kMs);
}

}  // namespace
}  // namespace pipefill
