#include "client/fill/save_interval.h"

#include "gtest/gtest.h"

namespace pipefill::sdk {
namespace {

constexpr uint64_t kMs = 1'000'000;
constexpr uint64_t kSecond = 1'000'000'000;

TEST(SaveIntervalTest, TheFirstSaveIsDueAfterTheLeastInterval) {
  SaveInterval interval({.min_ns = 2 * kSecond, .max_ns = 10 * kSecond});
  EXPECT_FALSE(interval.is_due());
  interval.OnUseful(2 * kSecond - 1);
  EXPECT_FALSE(interval.is_due());
  interval.OnUseful(1);
  EXPECT_TRUE(interval.is_due());
  EXPECT_FALSE(interval.is_overdue());
  interval.OnUseful(2 * kSecond);
  EXPECT_TRUE(interval.is_overdue());
}

TEST(SaveIntervalTest, NothingIsDueWithoutWork) {
  SaveInterval interval({.min_ns = 0, .max_ns = 0});
  EXPECT_FALSE(interval.is_due());
  EXPECT_FALSE(interval.is_overdue());
  interval.OnUseful(1);
  EXPECT_TRUE(interval.is_due());
}

TEST(SaveIntervalTest, GrowsWithTheRootOfWhatASaveCosts) {
  SaveInterval interval({.min_ns = 1, .max_ns = 600 * kSecond});
  // sqrt(2 * 0.1 s * 1800 s) = 18.97 s.
  interval.OnSave(100 * kMs, true);
  EXPECT_NEAR(static_cast<double>(interval.interval_ns()), 18.974e9, 1e6);
  interval.OnSave(400 * kMs, true);
  EXPECT_NEAR(static_cast<double>(interval.interval_ns()), 37.947e9, 1e6);
}

TEST(SaveIntervalTest, StaysInsideItsBounds) {
  SaveInterval interval({.min_ns = 10 * kSecond, .max_ns = 20 * kSecond});
  interval.OnSave(1'000, true);
  EXPECT_EQ(interval.interval_ns(), 10 * kSecond);
  interval.OnSave(300 * kMs, true);
  EXPECT_EQ(interval.interval_ns(), 20 * kSecond);
}

TEST(SaveIntervalTest, NeverCostsMoreThanItsShareOfUsefulTimeWhateverTheBounds) {
  SaveInterval interval({.min_ns = 1, .max_ns = 2});
  interval.OnSave(3 * kSecond, true);
  EXPECT_EQ(interval.interval_ns(), SaveInterval::kCostShare * 3 * kSecond);
}

TEST(SaveIntervalTest, AFailedSaveLeavesTheWorkUnsavedAndIsTriedAnIntervalLater) {
  SaveInterval interval({.min_ns = kSecond, .max_ns = kSecond});
  interval.OnUseful(3 * kSecond);
  interval.OnSave(kMs, false);
  EXPECT_EQ(interval.unsaved_ns(), 3 * kSecond);
  EXPECT_FALSE(interval.is_due());
  interval.OnUseful(kSecond);
  EXPECT_TRUE(interval.is_due());
  interval.OnSave(kMs, true);
  EXPECT_EQ(interval.unsaved_ns(), 0u);
}

}  // namespace
}  // namespace pipefill::sdk
