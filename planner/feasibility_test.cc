#include "planner/feasibility.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace pipefill {
namespace {

constexpr int64_t kMiB = 1 << 20;

DeviceSnapshot FilledDevice(const std::string& name, int64_t free_bytes) {
  return {.key = {"a", name},
          .memory_bytes = 1024 * kMiB,
          .memory_free_bytes = free_bytes,
          .resident = 0,
          .resident_limit = 1,
          .main_job = MainJobUse::kFilled};
}

PendingJob JobThatNeeds(int64_t bytes) {
  return {.id = JobId(1), .memory_bytes = bytes, .not_before = std::nullopt};
}

TEST(FeasibilityTest, JobFitsWhereAllItsMemoryIsFree) {
  EXPECT_TRUE(Fits(JobThatNeeds(100 * kMiB), FilledDevice("cpu0", 100 * kMiB)));
  EXPECT_FALSE(Fits(JobThatNeeds(100 * kMiB + 1), FilledDevice("cpu0", 100 * kMiB)));
}

TEST(FeasibilityTest, DeviceWithoutMainJobTakesNothing) {
  DeviceSnapshot device = FilledDevice("cpu0", 512 * kMiB);
  device.main_job = MainJobUse::kNone;
  EXPECT_FALSE(Fits(JobThatNeeds(kMiB), device));
}

TEST(FeasibilityTest, DeviceWhoseMainJobIsOnlyMeasuredTakesNothing) {
  DeviceSnapshot device = FilledDevice("cpu0", 512 * kMiB);
  device.main_job = MainJobUse::kMeasured;
  EXPECT_FALSE(Fits(JobThatNeeds(kMiB), device));
}

TEST(FeasibilityTest, DeviceAtItsResidentLimitTakesNothing) {
  DeviceSnapshot device = FilledDevice("cpu0", 512 * kMiB);
  device.resident = device.resident_limit;
  EXPECT_FALSE(Fits(JobThatNeeds(kMiB), device));
}

TEST(FeasibilityTest, BackOffEndsAtItsInstant) {
  PendingJob job = JobThatNeeds(kMiB);
  job.not_before = Instant::FromNs(1000);
  EXPECT_TRUE(IsBackingOff(job, Instant::FromNs(999)));
  EXPECT_FALSE(IsBackingOff(job, Instant::FromNs(1000)));
}

constexpr int64_t kMs = 1'000'000;

PendingJob JobWithNeeds(std::vector<UnitNeed> needs) {
  PendingJob job = JobThatNeeds(100 * kMiB);
  job.needs = std::make_shared<const std::vector<UnitNeed>>(std::move(needs));
  return job;
}

DeviceSnapshot DeviceWithRoom(const std::string& name, const BubbleRoom& room) {
  DeviceSnapshot device = FilledDevice(name, 512 * kMiB);
  device.room = room;
  return device;
}

TEST(FitsBubblesTest, OneConfigurationThatFitsIsEnough) {
  const PendingJob job = JobWithNeeds({{9 * kMs, 0, 0}, {2 * kMs, 0, 0}});
  EXPECT_TRUE(Fits(job, DeviceWithRoom("cpu0", {.longest_unit_ns = 2 * kMs})));
  EXPECT_FALSE(Fits(job, DeviceWithRoom("cpu0", {.longest_unit_ns = 2 * kMs - 1})));
}

TEST(FitsBubblesTest, WhatIsNotKnownRulesNothingOut) {
  EXPECT_TRUE(Fits(JobWithNeeds({{9 * kMs, 0, 0}}), FilledDevice("cpu0", 512 * kMiB)));
  EXPECT_TRUE(Fits(JobThatNeeds(kMiB), DeviceWithRoom("cpu0", {.longest_unit_ns = 1})));
}

TEST(FitsBubblesTest, MemoryMustFitEveryBubbleBetweenUnitsAndOneBubbleAtItsPeak) {
  const BubbleRoom room{.longest_unit_ns = kMs, .least_bytes = 10, .most_bytes = 20};
  EXPECT_TRUE(Fits(JobWithNeeds({{kMs, 10, 20}}), DeviceWithRoom("cpu0", room)));
  EXPECT_FALSE(Fits(JobWithNeeds({{kMs, 11, 20}}), DeviceWithRoom("cpu0", room)));
  EXPECT_FALSE(Fits(JobWithNeeds({{kMs, 10, 21}}), DeviceWithRoom("cpu0", room)));
}

TEST(FitsBubblesTest, ConfigurationMustKeepToTheCapOfItsJob) {
  const BubbleRoom room{.longest_unit_ns = kMs};
  EXPECT_TRUE(Fits(JobWithNeeds({{kMs, 0, 100 * kMiB}}), DeviceWithRoom("cpu0", room)));
  EXPECT_FALSE(Fits(JobWithNeeds({{kMs, 0, 100 * kMiB + 1}}), DeviceWithRoom("cpu0", room)));
}

TEST(ExplainWaitingTest, NamesTheShortestUnitsAndTheDeviceWithTheLongestBubbles) {
  const PendingJob job = JobWithNeeds({{9 * kMs, 0, 0}, {8 * kMs, 0, 0}});
  const std::vector<DeviceSnapshot> devices = {
      DeviceWithRoom("cpu0", {.longest_unit_ns = 2 * kMs}),
      DeviceWithRoom("cpu1", {.longest_unit_ns = 3 * kMs})};

  const PendingReason reason = ExplainWaiting(job, devices, Instant());

  EXPECT_EQ(reason.code, PendingCode::kNoBubbleFits);
  EXPECT_EQ(reason.need_unit.unit_ns, 8 * kMs);
  EXPECT_EQ(reason.best_room.longest_unit_ns, 3 * kMs);
  EXPECT_EQ(reason.best_device, (DeviceKey{"a", "cpu1"}));
}

TEST(ExplainWaitingTest, NamesTheSmallestConfigurationWhereNoneFitsTheMemory) {
  const PendingJob job = JobWithNeeds({{kMs, 40, 40}, {2 * kMs, 30, 35}});
  const PendingReason reason = ExplainWaiting(
      job, {DeviceWithRoom("cpu0", {.longest_unit_ns = 2 * kMs, .least_bytes = 10})}, Instant());
  EXPECT_EQ(reason.code, PendingCode::kNoBubbleFits);
  EXPECT_EQ(reason.need_unit, (UnitNeed{2 * kMs, 30, 35}));
}

TEST(ExplainWaitingTest, LackOfMemoryOnTheDeviceComesBeforeItsBubbles) {
  DeviceSnapshot device = DeviceWithRoom("cpu0", {.longest_unit_ns = kMs});
  device.memory_free_bytes = 99 * kMiB;
  EXPECT_EQ(ExplainWaiting(JobWithNeeds({{9 * kMs, 0, 0}}), {device}, Instant()).code,
            PendingCode::kMemory);
}

TEST(ExplainWaitingTest, NamesBackOffBeforeAnythingElse) {
  PendingJob job = JobThatNeeds(kMiB);
  job.not_before = Instant::FromNs(1000);

  const PendingReason reason = ExplainWaiting(job, {}, Instant::FromNs(0));

  EXPECT_EQ(reason.code, PendingCode::kBackOff);
  EXPECT_EQ(reason.not_before, Instant::FromNs(1000));
}

TEST(ExplainWaitingTest, NamesMissingAgentWhenThereIsNoDevice) {
  EXPECT_EQ(ExplainWaiting(JobThatNeeds(kMiB), {}, Instant()).code, PendingCode::kNoAgent);
}

TEST(ExplainWaitingTest, CountsDevicesWithoutMainJobToFill) {
  std::vector<DeviceSnapshot> devices = {FilledDevice("cpu0", kMiB), FilledDevice("cpu1", kMiB)};
  devices[0].main_job = MainJobUse::kNone;
  devices[1].main_job = MainJobUse::kMeasured;

  const PendingReason reason = ExplainWaiting(JobThatNeeds(kMiB), devices, Instant());

  EXPECT_EQ(reason.code, PendingCode::kNoMainJob);
  EXPECT_EQ(reason.devices, 2);
  EXPECT_EQ(reason.devices_measured, 1);
}

TEST(ExplainWaitingTest, CountsSeatsOfDevicesWithMainJobOnly) {
  std::vector<DeviceSnapshot> devices = {FilledDevice("cpu0", kMiB), FilledDevice("cpu1", kMiB)};
  devices[0].resident = 1;
  devices[1].main_job = MainJobUse::kNone;
  devices[1].resident_limit = 4;

  const PendingReason reason = ExplainWaiting(JobThatNeeds(kMiB), devices, Instant());

  EXPECT_EQ(reason.code, PendingCode::kResidentLimit);
  EXPECT_EQ(reason.resident, 1);
  EXPECT_EQ(reason.resident_limit, 1);
}

TEST(ExplainWaitingTest, NamesMostFreeMemoryAmongDevicesWithSeat) {
  std::vector<DeviceSnapshot> devices = {FilledDevice("cpu0", 900 * kMiB),
                                         FilledDevice("cpu1", 200 * kMiB),
                                         FilledDevice("cpu2", 300 * kMiB)};
  devices[0].resident = 1;

  const PendingReason reason = ExplainWaiting(JobThatNeeds(400 * kMiB), devices, Instant());

  EXPECT_EQ(reason.code, PendingCode::kMemory);
  EXPECT_EQ(reason.need_bytes, 400 * kMiB);
  EXPECT_EQ(reason.best_free_bytes, 300 * kMiB);
  EXPECT_EQ(reason.best_device, (DeviceKey{"a", "cpu2"}));
  EXPECT_EQ(reason.largest_bytes, 1024 * kMiB);
  EXPECT_EQ(reason.largest_device, (DeviceKey{"a", "cpu0"}));
}

}  // namespace
}  // namespace pipefill
