#include "common/median.h"

#include <gtest/gtest.h>

namespace pipefill {
namespace {

TEST(MedianTest, IsTheValueInTheMiddleOrTheMeanOfTwo) {
  EXPECT_EQ(Median({5}), 5);
  EXPECT_EQ(Median({9, 1, 5}), 5);
  EXPECT_EQ(Median({9, 1, 5, 7}), 6);
  EXPECT_EQ(Median({2, 2, 2, 2}), 2);
}

}  // namespace
}  // namespace pipefill
