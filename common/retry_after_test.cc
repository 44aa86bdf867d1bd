#include "common/retry_after.h"

#include <gtest/gtest.h>

namespace pipefill {
namespace {

TEST(RetryAfterTest, ComesBackAsItWasGiven) {
  const absl::Status status =
      WithRetryAfter(absl::ResourceExhaustedError("full"), absl::Milliseconds(250));
  EXPECT_EQ(status.message(), "full");
  EXPECT_EQ(RetryAfterOf(status), absl::Milliseconds(250));
}

TEST(RetryAfterTest, IsAbsentWithoutAdvice) {
  EXPECT_EQ(RetryAfterOf(absl::ResourceExhaustedError("full")), std::nullopt);
}

TEST(RetryAfterTest, PartOfAMillisecondIsAWholeOne) {
  EXPECT_EQ(FormatRetryAfter(absl::Microseconds(1)), "1");
}

TEST(RetryAfterTest, WhatIsNoTimeIsNoAdvice) {
  EXPECT_EQ(ParseRetryAfter(""), std::nullopt);
  EXPECT_EQ(ParseRetryAfter("-1"), std::nullopt);
  EXPECT_EQ(ParseRetryAfter("soon"), std::nullopt);
  EXPECT_EQ(ParseRetryAfter("3600001"), std::nullopt);
  EXPECT_EQ(ParseRetryAfter("3600000"), absl::Hours(1));
}

}  // namespace
}  // namespace pipefill
