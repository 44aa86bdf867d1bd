#include "agent/learn/stall_detector.h"

#include <gtest/gtest.h>

namespace pipefill {
namespace {

Instant At(double seconds) { return Instant::FromNs(static_cast<int64_t>(seconds * 1e9)); }

class StallDetectorTest : public ::testing::Test {
 protected:
  StallDetectorTest() { Edge(); }

  // Observes every second, from the one after `now_` on; its processes use `share` of a core.
  void Watch(int seconds, double share, bool is_bubble_open = false) {
    for (int i = 0; i < seconds; ++i) {
      now_ += 1.0;
      cpu_ += absl::Seconds(share);
      detector_.Observe({.now = At(now_),
                         .typical_iteration = typical_,
                         .is_bubble_open = is_bubble_open,
                         .cpu = cpu_});
    }
  }
  void Edge() { detector_.OnEdge(At(now_)); }

  StallDetector detector_{StallOptions{.after = absl::Seconds(5)}};
  absl::Duration typical_ = absl::Milliseconds(100);
  absl::Duration cpu_ = absl::ZeroDuration();
  double now_ = 0.0;
};

TEST_F(StallDetectorTest, StandsAfterFiveIdleSecondsWithoutAnEdge) {
  Watch(4, 0.0);
  EXPECT_FALSE(detector_.is_standing());
  Watch(1, 0.0);
  EXPECT_TRUE(detector_.is_standing());
}

TEST_F(StallDetectorTest, MovesWithItsNextEdge) {
  Watch(5, 0.0);
  Edge();
  EXPECT_FALSE(detector_.is_standing());
  Watch(4, 0.0);
  EXPECT_FALSE(detector_.is_standing());
}

TEST_F(StallDetectorTest, WorkOutsideBubblesIsNoStandstillHoweverLong) {
  Watch(100, 0.5);
  EXPECT_FALSE(detector_.is_standing());
}

TEST_F(StallDetectorTest, AWaitThatSpinsInABubbleIsAStandstill) {
  Watch(4, 1.0, true);
  EXPECT_FALSE(detector_.is_standing());
  Watch(1, 1.0, true);
  EXPECT_TRUE(detector_.is_standing());
  // It goes on spinning: that says nothing.
  Watch(20, 1.0, true);
  EXPECT_TRUE(detector_.is_standing());
  Edge();
  EXPECT_FALSE(detector_.is_standing());
}

TEST_F(StallDetectorTest, MovesWhenAnIdleProcessUsesCpuTimeAgainAndStandsOnlyAfterAsLongAgain) {
  Watch(10, 0.0, true);
  ASSERT_TRUE(detector_.is_standing());
  Watch(1, 0.3, true);
  EXPECT_FALSE(detector_.is_standing());
  Watch(4, 0.0, true);
  EXPECT_FALSE(detector_.is_standing());
  Watch(1, 0.0, true);
  EXPECT_TRUE(detector_.is_standing());
}

TEST_F(StallDetectorTest, OnePercentOfACoreIsIdleThreeAreNot) {
  Watch(6, 0.01);
  EXPECT_TRUE(detector_.is_standing());
  Edge();
  Watch(20, 0.03);
  EXPECT_FALSE(detector_.is_standing());
}

TEST_F(StallDetectorTest, SlowMainJobsHaveTenIterationsTime) {
  typical_ = absl::Seconds(3);
  Watch(29, 0.0);
  EXPECT_FALSE(detector_.is_standing());
  Watch(1, 0.0);
  EXPECT_TRUE(detector_.is_standing());
}

TEST_F(StallDetectorTest, AMainJobThatHasNotBegunDoesNotStand) {
  detector_ = StallDetector({.after = absl::Seconds(5)});
  Watch(100, 0.0);
  EXPECT_FALSE(detector_.is_standing());
  Edge();
  typical_ = absl::ZeroDuration();
  Watch(100, 0.0);
  EXPECT_FALSE(detector_.is_standing());
}

TEST_F(StallDetectorTest, AProcessThatIsGoneStands) {
  Watch(1, 0.5);
  for (int i = 0; i < 5; ++i) {
    now_ += 1.0;
    detector_.Observe(
        {.now = At(now_), .typical_iteration = typical_, .is_bubble_open = false, .cpu = {}});
  }
  EXPECT_TRUE(detector_.is_standing());
}

TEST_F(StallDetectorTest, NeverStandsWhenTurnedOff) {
  StallDetector off({.after = absl::ZeroDuration()});
  off.OnEdge(At(0.0));
  off.Observe({.now = At(100.0), .typical_iteration = typical_, .is_bubble_open = true, .cpu = {}});
  EXPECT_FALSE(off.is_standing());
}

}  // namespace
}  // namespace pipefill
