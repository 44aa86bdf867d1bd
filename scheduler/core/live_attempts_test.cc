#include "scheduler/core/live_attempts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace pipefill::scheduler {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

LiveAttempt AttemptOn(const std::string& device, uint64_t fence) {
  return {.key = {JobId(1), AttemptNumber(1), Fence(fence)}, .device = {"a", device}};
}

std::vector<uint64_t> FencesOn(const LiveAttempts& live, const std::string& device) {
  std::vector<uint64_t> fences;
  for (const LiveAttempt& attempt : live.On(device)) fences.push_back(attempt.key.fence.value());
  return fences;
}

std::vector<uint64_t> FencesInOrder(const LiveAttempts& live) {
  std::vector<uint64_t> fences;
  for (const LiveAttempt* attempt : live.InOrder()) fences.push_back(attempt->key.fence.value());
  return fences;
}

LiveAttempts SomeAttempts() {
  LiveAttempts live;
  live.Add(AttemptOn("cpu1", 7));
  live.Add(AttemptOn("cpu0", 5));
  live.Add(AttemptOn("cpu1", 2));
  live.Add(AttemptOn("cpu0", 9));
  return live;
}

TEST(LiveAttemptsTest, AreListedByDeviceAndTogetherTheOldestFirst) {
  const LiveAttempts live = SomeAttempts();
  EXPECT_THAT(FencesOn(live, "cpu0"), ElementsAre(5, 9));
  EXPECT_THAT(FencesOn(live, "cpu1"), ElementsAre(2, 7));
  EXPECT_THAT(FencesOn(live, "cpu2"), IsEmpty());
  EXPECT_THAT(FencesInOrder(live), ElementsAre(2, 5, 7, 9));
}

TEST(LiveAttemptsTest, AreFoundByFence) {
  LiveAttempts live = SomeAttempts();
  ASSERT_NE(live.Find(Fence(7)), nullptr);
  EXPECT_EQ(live.Find(Fence(7))->device.name, "cpu1");
  EXPECT_EQ(live.Find(Fence(6)), nullptr);
  EXPECT_EQ(live.Find("cpu1", Fence(7)), live.Find(Fence(7)));
  EXPECT_EQ(live.Find("cpu0", Fence(7)), nullptr);
  EXPECT_EQ(live.Find("cpu1", Fence(8)), nullptr);
  EXPECT_EQ(live.Find("cpu2", Fence(7)), nullptr);
  live.At("cpu1", Fence(7)).is_started = true;
  EXPECT_TRUE(live.Find(Fence(7))->is_started);
}

TEST(LiveAttemptsTest, OfDeviceWithoutAttemptsNothingIsLeft) {
  LiveAttempts live = SomeAttempts();
  live.Remove("cpu0", Fence(5));
  EXPECT_THAT(FencesInOrder(live), ElementsAre(2, 7, 9));
  EXPECT_THAT(FencesOn(live, "cpu0"), ElementsAre(9));
  live.Remove("cpu0", Fence(9));
  EXPECT_THAT(FencesOn(live, "cpu0"), IsEmpty());
  live.Remove("cpu1", Fence(2));
  EXPECT_FALSE(live.empty());
  live.Remove("cpu1", Fence(7));
  EXPECT_TRUE(live.empty());
}

}  // namespace
}  // namespace pipefill::scheduler
