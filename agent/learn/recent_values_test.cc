#include "agent/learn/recent_values.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace pipefill {
namespace {

RecentValues Of(size_t limit, const std::vector<int64_t>& values) {
  RecentValues recent(limit);
  for (const int64_t value : values) recent.Add(value);
  return recent;
}

TEST(RecentValuesTest, QuantileOfNothingIsZero) { EXPECT_EQ(RecentValues(3).Quantile(0.5), 0); }

TEST(RecentValuesTest, ForgetsTheOldestBeyondItsLimit) {
  EXPECT_EQ(Of(3, {9, 1, 5, 7}).sorted(), (std::vector<int64_t>{1, 5, 7}));
}

TEST(RecentValuesTest, RemovesOneOfSeveralEqualValues) {
  EXPECT_EQ(Of(3, {4, 4, 4, 8}).sorted(), (std::vector<int64_t>{4, 4, 8}));
}

TEST(RecentValuesTest, QuantileIsTheNearestRank) {
  const RecentValues recent = Of(8, {40, 10, 30, 20});
  EXPECT_EQ(recent.Quantile(0.0), 10);
  EXPECT_EQ(recent.Quantile(0.25), 10);
  EXPECT_EQ(recent.Quantile(0.26), 20);
  EXPECT_EQ(recent.Quantile(0.5), 20);
  EXPECT_EQ(recent.Quantile(1.0), 40);
  EXPECT_EQ(recent.Quantile(7.0), 40);
}

TEST(RecentValuesTest, KeepsTheNewestAfterItsRingHasWrapped) {
  RecentValues recent = Of(4, {1, 2, 3, 4, 9, 8});
  recent.KeepNewest(2);
  EXPECT_EQ(recent.sorted(), (std::vector<int64_t>{8, 9}));
  for (const int64_t value : {5, 6, 7}) recent.Add(value);
  EXPECT_EQ(recent.sorted(), (std::vector<int64_t>{5, 6, 7, 8}));
}

RC_GTEST_PROP(RecentValuesTest, EqualsSortingTheTailOfTheStream,
              (const std::vector<int8_t>& stream)) {
  const size_t limit = *rc::gen::inRange<size_t>(1, 20);
  const size_t cut_at = *rc::gen::inRange<size_t>(0, stream.size() + 1);
  const size_t kept = *rc::gen::inRange<size_t>(0, limit + 2);
  RecentValues recent(limit);
  std::vector<int64_t> model;
  for (size_t i = 0; i < stream.size(); ++i) {
    if (i == cut_at) {
      recent.KeepNewest(kept);
      if (model.size() > kept) model.erase(model.begin(), model.end() - static_cast<long>(kept));
    }
    recent.Add(stream[i]);
    model.push_back(stream[i]);
    if (model.size() > limit) model.erase(model.begin());
  }
  std::sort(model.begin(), model.end());
  RC_ASSERT(recent.sorted() == model);
}

}  // namespace
}  // namespace pipefill
