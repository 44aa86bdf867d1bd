#include "client/profile/unit_times.h"

#include <gtest/gtest.h>

namespace pipefill::sdk {
namespace {

TEST(UnitTimesTest, KnowsCountTotalAndQuantiles) {
  UnitTimes times;
  EXPECT_EQ(times.QuantileNs(0.5), 0U);
  for (uint64_t i = 100; i > 0; --i) times.Add(i);
  EXPECT_EQ(times.count(), 100U);
  EXPECT_EQ(times.total_ns(), 5050U);
  EXPECT_EQ(times.max_ns(), 100U);
  EXPECT_EQ(times.QuantileNs(0.5), 50U);
  EXPECT_EQ(times.QuantileNs(0.9), 90U);
  EXPECT_EQ(times.QuantileNs(1.0), 100U);
  EXPECT_EQ(times.QuantileNs(0.001), 1U);
}

TEST(UnitTimesTest, KeepsASampleOfAllOfALongRun) {
  UnitTimes times;
  constexpr uint64_t kUnits = 1'000'000;
  for (uint64_t i = 1; i <= kUnits; ++i) times.Add(i);
  EXPECT_EQ(times.count(), kUnits);
  EXPECT_EQ(times.max_ns(), kUnits);
  EXPECT_NEAR(static_cast<double>(times.QuantileNs(0.5)), 0.5 * kUnits, 0.01 * kUnits);
  EXPECT_NEAR(static_cast<double>(times.QuantileNs(0.9)), 0.9 * kUnits, 0.01 * kUnits);
}

}  // namespace
}  // namespace pipefill::sdk
