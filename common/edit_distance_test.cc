#include "common/edit_distance.h"

#include <gtest/gtest.h>

namespace pipefill {
namespace {

TEST(EditDistanceTest, CountsInsertionsRemovalsAndReplacements) {
  EXPECT_EQ(EditDistance("", ""), 0U);
  EXPECT_EQ(EditDistance("", "abc"), 3U);
  EXPECT_EQ(EditDistance("cores", "core"), 1U);
  EXPECT_EQ(EditDistance("memroy", "memory"), 2U);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3U);
  EXPECT_EQ(EditDistance("sitting", "kitten"), 3U);
}

}  // namespace
}  // namespace pipefill
