#include "client/pages/hold_out.h"

#include <set>

#include "gtest/gtest.h"

namespace pipefill {
namespace {

TEST(HoldOutTest, HoldsOutExactlyOneBlockOfEveryGroup) {
  const HoldOut hold_out = {.block_iterations = 4, .one_in = 8};
  for (uint64_t group = 0; group < 200; ++group) {
    std::set<uint64_t> blocks;
    int iterations = 0;
    for (uint64_t i = 0; i < 32; ++i) {
      if (!IsHeldOut(hold_out, group * 32 + i)) continue;
      blocks.insert(i / 4);
      ++iterations;
    }
    EXPECT_EQ(blocks.size(), 1u) << group;
    EXPECT_EQ(iterations, 4) << group;
  }
}

TEST(HoldOutTest, HoldsOutEveryBlockOfAGroupSometimes) {
  const HoldOut hold_out = {.block_iterations = 1, .one_in = 16};
  std::set<uint64_t> positions;
  for (uint64_t iteration = 0; iteration < 16 * 400; ++iteration) {
    if (IsHeldOut(hold_out, iteration)) positions.insert(iteration % 16);
  }
  EXPECT_EQ(positions.size(), 16u);
}

TEST(HoldOutTest, HoldsOutNothingForZeroAndEverythingForOne) {
  for (uint64_t iteration = 0; iteration < 100; ++iteration) {
    EXPECT_FALSE(IsHeldOut({.block_iterations = 3, .one_in = 0}, iteration));
    EXPECT_TRUE(IsHeldOut({.block_iterations = 3, .one_in = 1}, iteration));
  }
}

TEST(HoldOutTest, KeepsOneInManyOfTheHoldOutsOnceThereWereEnough) {
  const HoldOut early = {.block_iterations = 2, .one_in = 16};
  HoldOut late = early;
  late.early_iterations = 2 * 1024;
  late.one_in_late = 64;
  std::set<uint64_t> positions;
  for (uint64_t group = 0; group < 400; ++group) {
    int held_out = 0;
    for (uint64_t i = group * 128; i < (group + 1) * 128; ++i) {
      if (i < late.early_iterations) {
        EXPECT_EQ(IsHeldOut(late, i), IsHeldOut(early, i)) << i;
      } else if (IsHeldOut(late, i)) {
        EXPECT_TRUE(IsHeldOut(early, i)) << i;
        positions.insert(i % 128 / 32);
        ++held_out;
      }
    }
    EXPECT_EQ(held_out, group < 16 ? 0 : 2) << group;
  }
  EXPECT_EQ(positions.size(), 4u);
}

TEST(HoldOutTest, TakesABlockOfZeroIterationsAsOne) {
  for (uint64_t iteration = 0; iteration < 1000; ++iteration) {
    EXPECT_EQ(IsHeldOut({.block_iterations = 0, .one_in = 5}, iteration),
              IsHeldOut({.block_iterations = 1, .one_in = 5}, iteration));
  }
}

}  // namespace
}  // namespace pipefill
