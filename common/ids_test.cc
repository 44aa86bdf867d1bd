#include "common/ids.h"

#include <gtest/gtest.h>

#include <sstream>
#include <type_traits>

#include "absl/container/flat_hash_set.h"

namespace pipefill {
namespace {

static_assert(!std::is_convertible_v<JobId, Fence>);
static_assert(!std::is_constructible_v<JobId, Fence>);
static_assert(!std::is_convertible_v<int64_t, JobId>);
static_assert(!std::is_convertible_v<JobId, int64_t>);

TEST(IdTest, OrdersByValue) {
  EXPECT_LT(Fence(2), Fence(10));
  EXPECT_EQ(Fence(7), Fence(7));
}

TEST(IdTest, HashesByValue) {
  absl::flat_hash_set<JobId> jobs = {JobId(1), JobId(2)};
  EXPECT_FALSE(jobs.insert(JobId(2)).second);
  EXPECT_TRUE(jobs.insert(JobId(3)).second);
}

TEST(IdTest, PrintsBareNumber) {
  std::ostringstream out;
  out << JobId(17) << "." << AttemptNumber(2);
  EXPECT_EQ(out.str(), "17.2");
}

}  // namespace
}  // namespace pipefill
