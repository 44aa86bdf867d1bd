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

Plan PlanAfter(const std::vector<DeviceSnapshot>& devices) {
  Plan plan;
  for (const DeviceSnapshot& device : devices) AddDevice(device, &plan.numbers);
  return plan;
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

// Why the job, which fits nowhere, waits.
PendingReason ReasonAfter(const PendingJob& job, const std::vector<DeviceSnapshot>& devices) {
  Plan plan = PlanAfter(devices);
  for (const DeviceSnapshot& device : devices) NoteMisfit(job, device, &plan.misfits);
  return ExplainWaiting(job, plan, Instant());
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

  const PendingReason reason = ReasonAfter(job, devices);

  EXPECT_EQ(reason.code, PendingCode::kNoBubbleFits);
  EXPECT_EQ(reason.need_unit.unit_ns, 8 * kMs);
  EXPECT_EQ(reason.misfit.room.longest_unit_ns, 3 * kMs);
  EXPECT_EQ(reason.misfit.device, (DeviceKey{"a", "cpu1"}));
}

TEST(ExplainWaitingTest, NamesTheSmallestConfigurationWhereNoneFitsTheMemory) {
  const PendingJob job = JobWithNeeds({{kMs, 40, 40}, {2 * kMs, 30, 35}});
  const PendingReason reason =
      ReasonAfter(job, {DeviceWithRoom("cpu0", {.longest_unit_ns = 2 * kMs, .least_bytes = 10})});
  EXPECT_EQ(reason.code, PendingCode::kNoBubbleFits);
  EXPECT_EQ(reason.need_unit, (UnitNeed{2 * kMs, 30, 35}));
}

TEST(ExplainWaitingTest, LackOfMemoryOnTheDeviceComesBeforeItsBubbles) {
  DeviceSnapshot device = DeviceWithRoom("cpu0", {.longest_unit_ns = kMs});
  device.memory_free_bytes = 99 * kMiB;
  EXPECT_EQ(ReasonAfter(JobWithNeeds({{9 * kMs, 0, 0}}), {device}).code, PendingCode::kMemory);
}

// With a task that is leaving, and a place kept for somebody.
DeviceSnapshot HeldDevice() {
  DeviceSnapshot device = FilledDevice("cpu0", 300 * kMiB);
  device.resident_limit = 3;
  device.resident = 1;
  device.residents = {{.job = JobId(9), .memory_bytes = 200 * kMiB, .is_leaving = true}};
  device.held_seats = 1;
  device.held_bytes = 400 * kMiB;
  return device;
}

TEST(FeasibilityTest, WhatIsKeptForOthersComesFromLeavingTasksFirst) {
  DeviceSnapshot device = HeldDevice();
  EXPECT_EQ(FreeBytes(device), 100 * kMiB);
  device.held_bytes = 150 * kMiB;
  EXPECT_EQ(FreeBytes(device), 300 * kMiB);
  device.residents[0].is_leaving = false;
  EXPECT_EQ(FreeBytes(device), 150 * kMiB);
  device.resident_limit = 2;
  EXPECT_EQ(FreeBytes(device), -1);
}

TEST(FeasibilityTest, OwnReservationDoesNotStandInTheWay) {
  PendingJob job = JobThatNeeds(250 * kMiB);
  DeviceSnapshot device = HeldDevice();
  device.held_bytes = 450 * kMiB;
  EXPECT_FALSE(Fits(job, device));
  job.reserved = Reservation{{"a", "cpu0"}, Instant::FromNs(10)};
  EXPECT_TRUE(Fits(job, device));
  job.reserved->device.name = "cpu1";
  EXPECT_FALSE(Fits(job, device));
}

TEST(ExplainWaitingTest, NamesWhatCanNeverRun) {
  const PendingReason reason =
      ExplainWaiting(JobThatNeeds(2048 * kMiB), PlanAfter({FilledDevice("cpu0", kMiB)}), Instant());
  EXPECT_EQ(reason.code, PendingCode::kInfeasible);
  EXPECT_EQ(reason.numbers.largest_bytes, 1024 * kMiB);
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

  const PendingReason reason = ExplainWaiting(JobThatNeeds(kMiB), PlanAfter(devices), Instant());

  EXPECT_EQ(reason.code, PendingCode::kNoMainJob);
  EXPECT_EQ(reason.numbers.devices, 2);
  EXPECT_EQ(reason.numbers.devices_measured, 1);
}

TEST(ExplainWaitingTest, CountsSeatsOfDevicesWithMainJobOnly) {
  std::vector<DeviceSnapshot> devices = {FilledDevice("cpu0", kMiB), FilledDevice("cpu1", kMiB)};
  devices[0].resident = 1;
  devices[1].main_job = MainJobUse::kNone;
  devices[1].resident_limit = 4;

  const PendingReason reason = ExplainWaiting(JobThatNeeds(kMiB), PlanAfter(devices), Instant());

  EXPECT_EQ(reason.code, PendingCode::kResidentLimit);
  EXPECT_EQ(reason.numbers.resident, 1);
  EXPECT_EQ(reason.numbers.resident_limit, 1);
}

TEST(ExplainWaitingTest, NamesMostFreeMemoryAmongDevicesWithSeat) {
  std::vector<DeviceSnapshot> devices = {FilledDevice("cpu0", 900 * kMiB),
                                         FilledDevice("cpu1", 200 * kMiB),
                                         FilledDevice("cpu2", 300 * kMiB)};
  devices[0].resident = 1;

  const PendingReason reason =
      ExplainWaiting(JobThatNeeds(400 * kMiB), PlanAfter(devices), Instant());

  EXPECT_EQ(reason.code, PendingCode::kMemory);
  EXPECT_EQ(reason.need_bytes, 400 * kMiB);
  EXPECT_EQ(reason.numbers.best_free_bytes, 300 * kMiB);
  EXPECT_EQ(reason.numbers.best_device, (DeviceKey{"a", "cpu2"}));
  EXPECT_EQ(reason.numbers.largest_bytes, 1024 * kMiB);
  EXPECT_EQ(reason.numbers.largest_device, (DeviceKey{"a", "cpu0"}));
}

}  // namespace
}  // namespace pipefill
