#include "client/fill/slice.h"

#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace pipefill::sdk {
namespace {

constexpr uint64_t kUs = 1'000;
constexpr SliceRange kRange = {.min_ns = 500 * kUs, .max_ns = 4'000 * kUs};

// A bubble with so much time left.
auto Rest(uint64_t rest_ns) {
  return [rest_ns](uint64_t length_ns) { return length_ns <= rest_ns; };
}

TEST(SliceTest, IsTheLongestWhereMuchIsLeft) {
  EXPECT_EQ(ChooseRun(kRange, 100 * kUs, Rest(100'000 * kUs)), 4'000 * kUs);
}

TEST(SliceTest, LeavesHalfOfItsLengthToShorterOnes) {
  EXPECT_EQ(ChooseRun(kRange, 100 * kUs, Rest(6'150 * kUs)), 4'000 * kUs);
  EXPECT_EQ(ChooseRun(kRange, 100 * kUs, Rest(6'149 * kUs)), 2'000 * kUs);
}

TEST(SliceTest, TimeToStopCountsAsMuchAsTimeToRun) {
  EXPECT_EQ(ChooseRun(kRange, 1'000 * kUs, Rest(3'000 * kUs)), 1'000 * kUs);
  EXPECT_EQ(ChooseRun(kRange, 1'001 * kUs, Rest(3'000 * kUs)), 500 * kUs);
}

TEST(SliceTest, IsTheShortestWhereNothingFits) {
  EXPECT_EQ(ChooseRun(kRange, 100 * kUs, Rest(0)), 500 * kUs);
}

RC_GTEST_PROP(SlicePropertyTest, LongerOnesAlwaysFitWithHalfAsMuchAgain, ()) {
  const uint64_t stop_ns = *rc::gen::inRange<uint64_t>(0, 10'000'000);
  const uint64_t rest_ns = *rc::gen::inRange<uint64_t>(0, 40'000'000);
  const uint64_t run_ns = ChooseRun(kRange, stop_ns, Rest(rest_ns));
  RC_ASSERT(run_ns >= kRange.min_ns && run_ns <= kRange.max_ns);
  const uint64_t length_ns = run_ns + stop_ns;
  RC_ASSERT(run_ns == kRange.min_ns || length_ns + length_ns / 2 <= rest_ns);
  // And no longer one would have.
  if (run_ns == kRange.max_ns) return;
  const uint64_t longer_ns = 2 * run_ns + stop_ns;
  RC_ASSERT(longer_ns + longer_ns / 2 > rest_ns);
}

}  // namespace
}  // namespace pipefill::sdk
