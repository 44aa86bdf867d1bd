#include "scheduler/waiters.h"

#include <gtest/gtest.h>

#include <vector>

namespace pipefill::scheduler {
namespace {

class WaitersTest : public testing::Test {
 protected:
  absl::Status Add(uint64_t wait, int64_t job) {
    return waiters_.Add(WaitId(wait), JobId(job),
                        [this, wait](absl::Status) { answered_.push_back(wait); });
  }

  Waiters waiters_{3};
  std::vector<uint64_t> answered_;
};

TEST_F(WaitersTest, AllWaitersOfOneJobAreTakenInOrder) {
  ASSERT_TRUE(Add(2, 7).ok());
  ASSERT_TRUE(Add(1, 8).ok());
  ASSERT_TRUE(Add(3, 7).ok());
  for (const auto& answer : waiters_.TakeAll(JobId(7))) answer(absl::OkStatus());
  EXPECT_EQ(answered_, (std::vector<uint64_t>{2, 3}));
  EXPECT_EQ(waiters_.size(), 1U);
}

TEST_F(WaitersTest, EachIsTakenOnce) {
  ASSERT_TRUE(Add(1, 7).ok());
  EXPECT_NE(waiters_.Take(WaitId(1)), nullptr);
  EXPECT_EQ(waiters_.Take(WaitId(1)), nullptr);
  EXPECT_TRUE(waiters_.TakeAll(JobId(7)).empty());
}

TEST_F(WaitersTest, RefusesBeyondItsLimitUntilOneLeaves) {
  for (uint64_t wait = 1; wait <= 3; ++wait) ASSERT_TRUE(Add(wait, 7).ok());
  EXPECT_EQ(Add(4, 7).code(), absl::StatusCode::kResourceExhausted);
  waiters_.Take(WaitId(2));
  EXPECT_TRUE(Add(4, 7).ok());
}

}  // namespace
}  // namespace pipefill::scheduler
