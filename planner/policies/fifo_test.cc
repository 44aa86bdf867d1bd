#include "planner/policies/fifo.h"

#include <gtest/gtest.h>

#include <random>

#include "planner/policies/by_name.h"

namespace pipefill {
namespace {

DeviceSnapshot Device(int resident, int64_t free_bytes) {
  return {.key = {"a", "cpu0"},
          .memory_bytes = 100,
          .memory_free_bytes = free_bytes,
          .resident = resident,
          .resident_limit = 4,
          .main_job = MainJobUse::kFilled};
}

Score ScoreOf(int64_t job, const DeviceSnapshot& device) {
  std::mt19937_64 random(1);
  return FifoPolicy().ScorePair({JobId(job), 10, std::nullopt}, device, {}, random);
}

TEST(FifoTest, EarlierJobBeatsLaterOneOnAnyDevice) {
  EXPECT_GT(ScoreOf(1, Device(3, 10)), ScoreOf(2, Device(0, 100)));
}

TEST(FifoTest, DeviceWithFewerTasksBeatsOneWithMoreMemory) {
  EXPECT_GT(ScoreOf(1, Device(0, 10)), ScoreOf(1, Device(1, 100)));
}

TEST(FifoTest, AmongEqualDevicesMoreFreeMemoryWins) {
  EXPECT_GT(ScoreOf(1, Device(0, 11)), ScoreOf(1, Device(0, 10)));
}

TEST(PolicyByNameTest, KnowsFifo) {
  const auto policy = MakePolicyByName("fifo");
  ASSERT_TRUE(policy.ok());
  EXPECT_EQ((*policy)->name(), "fifo");
}

TEST(PolicyByNameTest, UnknownNameListsTheKnownOnes) {
  const auto policy = MakePolicyByName("lifo");
  EXPECT_EQ(policy.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(policy.status().message(), "no policy has the name \"lifo\"; known: fifo");
}

}  // namespace
}  // namespace pipefill
