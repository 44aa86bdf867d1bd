#include "common/instant.h"

#include <gtest/gtest.h>

#include <type_traits>

namespace pipefill {
namespace {

template <typename A, typename B>
concept CanCompare = requires(A a, B b) {
  a < b;
};
static_assert(CanCompare<Instant, Instant>);
static_assert(!CanCompare<Instant, absl::Time>);
static_assert(!std::is_convertible_v<int64_t, Instant>);

TEST(InstantTest, DifferenceUndoesAddition) {
  const Instant start = Instant::FromNs(5'000'000'000);
  const absl::Duration step = absl::Nanoseconds(1'500'000'001);
  EXPECT_EQ((start + step).ns(), 6'500'000'001);
  EXPECT_EQ((start + step) - start, step);
}

TEST(InstantTest, DifferenceToLaterInstantIsNegative) {
  EXPECT_EQ(Instant::FromNs(3) - Instant::FromNs(10), absl::Nanoseconds(-7));
}

TEST(InstantTest, OrdersByTime) {
  EXPECT_LT(Instant::FromNs(-1), Instant::FromNs(0));
  EXPECT_EQ(Instant(), Instant::FromNs(0));
}

}  // namespace
}  // namespace pipefill
