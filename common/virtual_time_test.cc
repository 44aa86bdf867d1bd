#include "common/virtual_time.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace pipefill {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class VirtualTimeTest : public ::testing::Test {
 protected:
  Instant AtMs(int64_t ms) const { return start_ + absl::Milliseconds(ms); }
  Loop::Callback Note(const std::string& name) {
    return [this, name] { noted_.push_back(name); };
  }

  VirtualTime time_;
  const Instant start_ = time_.Now();
  std::vector<std::string> noted_;
};

TEST_F(VirtualTimeTest, StartsAtTheSameInstantsEveryTime) {
  VirtualTime other;
  EXPECT_EQ(other.Now(), time_.Now());
  EXPECT_EQ(other.WallNow(), time_.WallNow());
}

TEST_F(VirtualTimeTest, MovesOnRequestOnly) {
  time_.Post(Note("posted"));
  time_.RunReady();
  EXPECT_EQ(time_.Now(), start_);
  time_.AdvanceBy(absl::Milliseconds(5));
  EXPECT_EQ(time_.Now(), AtMs(5));
}

TEST_F(VirtualTimeTest, WallTimeMovesAlong) {
  const absl::Time wall_start = time_.WallNow();
  time_.AdvanceBy(absl::Seconds(90));
  EXPECT_EQ(time_.WallNow() - wall_start, absl::Seconds(90));
}

TEST_F(VirtualTimeTest, RunReadyRunsWhatPostedCallbacksPost) {
  time_.Post([this] {
    noted_.push_back("first");
    time_.Post(Note("third"));
  });
  time_.Post(Note("second"));
  time_.RunReady();
  EXPECT_THAT(noted_, ElementsAre("first", "second", "third"));
}

TEST_F(VirtualTimeTest, RunReadyLeavesTimersAlone) {
  time_.PostAt(start_, Note("timer"));
  time_.RunReady();
  EXPECT_THAT(noted_, IsEmpty());
}

TEST_F(VirtualTimeTest, TimersRunInOrderOfTime) {
  time_.PostAt(AtMs(30), Note("30"));
  time_.PostAt(AtMs(10), Note("10"));
  time_.PostAt(AtMs(20), Note("20"));
  time_.AdvanceTo(AtMs(30));
  EXPECT_THAT(noted_, ElementsAre("10", "20", "30"));
}

TEST_F(VirtualTimeTest, TimersOfEqualTimeRunInOrderOfMaking) {
  for (const char* name : {"a", "b", "c"}) time_.PostAt(AtMs(10), Note(name));
  time_.AdvanceTo(AtMs(10));
  EXPECT_THAT(noted_, ElementsAre("a", "b", "c"));
}

TEST_F(VirtualTimeTest, TimerAfterTheEndWaits) {
  time_.PostAt(AtMs(10) + absl::Nanoseconds(1), Note("late"));
  time_.AdvanceTo(AtMs(10));
  EXPECT_THAT(noted_, IsEmpty());
  time_.AdvanceBy(absl::Nanoseconds(1));
  EXPECT_THAT(noted_, ElementsAre("late"));
}

TEST_F(VirtualTimeTest, CallbackSeesTheInstantOfItsTimer) {
  Instant seen;
  time_.PostAt(AtMs(7), [&] { seen = time_.Now(); });
  time_.AdvanceTo(AtMs(100));
  EXPECT_EQ(seen, AtMs(7));
  EXPECT_EQ(time_.Now(), AtMs(100));
}

TEST_F(VirtualTimeTest, TimerMadeByATimerRunsInTheSameAdvance) {
  time_.PostAt(AtMs(10), [this] { time_.PostAt(AtMs(20), Note("inner")); });
  time_.PostAt(AtMs(25), Note("outer"));
  time_.AdvanceTo(AtMs(30));
  EXPECT_THAT(noted_, ElementsAre("inner", "outer"));
}

TEST_F(VirtualTimeTest, WhatATimerPostsRunsBeforeTheNextTimer) {
  time_.PostAt(AtMs(10), [this] { time_.Post(Note("posted")); });
  time_.PostAt(AtMs(10), Note("timer"));
  time_.AdvanceTo(AtMs(10));
  EXPECT_THAT(noted_, ElementsAre("posted", "timer"));
}

TEST_F(VirtualTimeTest, TimerInThePastRunsWithoutMovingTimeBack) {
  time_.AdvanceTo(AtMs(50));
  Instant seen;
  time_.PostAt(AtMs(10), [&] { seen = time_.Now(); });
  time_.AdvanceBy(absl::ZeroDuration());
  EXPECT_EQ(seen, AtMs(50));
}

TEST_F(VirtualTimeTest, CancelledTimerNeverRuns) {
  const Loop::TimerId cancelled = time_.PostAt(AtMs(10), Note("cancelled"));
  time_.PostAt(AtMs(10), Note("kept"));
  time_.Cancel(cancelled);
  time_.AdvanceTo(AtMs(10));
  EXPECT_THAT(noted_, ElementsAre("kept"));
}

TEST_F(VirtualTimeTest, CancellingATimerThatRanDoesNothing) {
  const Loop::TimerId timer = time_.PostAt(AtMs(10), Note("timer"));
  time_.AdvanceTo(AtMs(10));
  time_.Cancel(timer);
  time_.Cancel(0);
  time_.AdvanceTo(AtMs(20));
  EXPECT_THAT(noted_, ElementsAre("timer"));
}

TEST_F(VirtualTimeTest, GoingBackIsABug) {
  time_.AdvanceTo(AtMs(10));
  EXPECT_DEATH(time_.AdvanceTo(AtMs(9)), "to >= now_");
}

TEST_F(VirtualTimeTest, WallClockMayJumpAndNothingElse) {
  const absl::Time wall = time_.WallNow();
  const Instant now = time_.Now();
  time_.JumpWall(absl::Hours(24));
  time_.AdvanceBy(absl::Seconds(1));
  EXPECT_EQ(time_.WallNow(), wall + absl::Hours(24) + absl::Seconds(1));
  EXPECT_EQ(time_.Now(), now + absl::Seconds(1));
}

}  // namespace
}  // namespace pipefill
