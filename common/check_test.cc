#include "common/check.h"

#include <gtest/gtest.h>

namespace pipefill {
namespace {

TEST(CheckTest, FailedConditionEndsProcessWithFileLineAndText) {
  const int devices = 1;
  EXPECT_DEATH(CHECK(devices == 2), "common/check_test.cc:[0-9]+: check failed: devices == 2");
}

TEST(CheckTest, EvaluatesConditionOnce) {
  int evaluations = 0;
  CHECK(++evaluations > 0);
  EXPECT_EQ(evaluations, 1);
}

}  // namespace
}  // namespace pipefill
