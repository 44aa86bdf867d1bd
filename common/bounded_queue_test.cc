#include "common/bounded_queue.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>

namespace pipefill {
namespace {

TEST(BoundedQueueTest, GivesItemsInOrderOfPushing) {
  BoundedQueue<int> queue(2, Overflow::kReject);
  EXPECT_TRUE(queue.Push(1));
  EXPECT_TRUE(queue.Push(2));
  EXPECT_EQ(queue.Pop(), 1);
  EXPECT_EQ(queue.Pop(), 2);
  EXPECT_EQ(queue.Pop(), std::nullopt);
  EXPECT_EQ(queue.dropped(), 0u);
}

TEST(BoundedQueueTest, RejectKeepsWhatIsQueuedAndCountsTheNewItem) {
  BoundedQueue<int> queue(1, Overflow::kReject);
  queue.Push(1);
  EXPECT_FALSE(queue.Push(2));
  EXPECT_EQ(queue.dropped(), 1u);
  EXPECT_EQ(queue.Pop(), 1);
  EXPECT_TRUE(queue.is_empty());
}

TEST(BoundedQueueTest, DropOldestKeepsTheNewestAndCountsTheOldest) {
  BoundedQueue<int> queue(2, Overflow::kDropOldest);
  queue.Push(1);
  queue.Push(2);
  EXPECT_FALSE(queue.Push(3));
  EXPECT_EQ(queue.dropped(), 1u);
  EXPECT_EQ(queue.size(), 2u);
  EXPECT_EQ(queue.Pop(), 2);
  EXPECT_EQ(queue.Pop(), 3);
}

TEST(BoundedQueueTest, RejectedItemIsDestroyed) {
  auto item = std::make_shared<int>(7);
  const std::weak_ptr<int> watched = item;
  BoundedQueue<std::shared_ptr<int>> queue(1, Overflow::kReject);
  queue.Push(nullptr);
  queue.Push(std::move(item));
  EXPECT_TRUE(watched.expired());
}

TEST(BoundedQueueTest, LimitOfZeroIsABug) {
  EXPECT_DEATH(BoundedQueue<int>(0, Overflow::kReject), "limit > 0");
}

}  // namespace
}  // namespace pipefill
