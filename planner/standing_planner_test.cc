#include "planner/standing_planner.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "planner/policies/fifo.h"
#include "planner/policies/makespan.h"

namespace pipefill {
namespace {

constexpr Instant kNow = Instant::FromNs(1000);

DeviceSnapshot FilledDevice(const std::string& node, int64_t free_bytes) {
  return {.key = {node, "gpu0"},
          .memory_bytes = 20,
          .memory_free_bytes = free_bytes,
          .resident_limit = 2,
          .main_job = MainJobUse::kFilled};
}

PendingJob JobThatNeeds(int64_t id, int64_t memory_bytes) {
  return {.id = JobId(id), .memory_bytes = memory_bytes, .not_before = std::nullopt};
}

// What both planners make of it.
std::vector<Placement> PlacementsOf(const ClusterSnapshot& snapshot, const Policy& policy) {
  StandingPlanner planner(policy);
  for (const DeviceSnapshot& device : snapshot.devices) planner.SetDevice(device);
  for (const PendingJob& job : snapshot.pending) planner.SetJob(job);
  const Plan plan = planner.MakePlan(snapshot.now);
  EXPECT_EQ(plan.placements, MakePlan(snapshot, policy).placements);
  return plan.placements;
}

TEST(StandingPlannerTest, PassedOverJobTakesWhatAReservationGivesBack) {
  ClusterSnapshot snapshot = {.now = kNow,
                              .devices = {FilledDevice("a", 5), FilledDevice("b", 1)},
                              .pending = {JobThatNeeds(1, 1), JobThatNeeds(2, 5)}};
  snapshot.pending[0].priority = 1;
  snapshot.pending[0].preferred = DeviceKey{"b", "gpu0"};
  snapshot.pending[0].reserved = Reservation{{"a", "gpu0"}, kNow + absl::Seconds(1)};
  snapshot.pending[1].tenant = "other";
  // Nothing has 5 free until the first one goes to b.
  EXPECT_EQ(PlacementsOf(snapshot, FifoPolicy()),
            (std::vector<Placement>{{JobId(1), {"b", "gpu0"}}, {JobId(2), {"a", "gpu0"}}}));
}

TEST(StandingPlannerTest, PassedOverJobTakesASeatThatAnEvictionLeavesOver) {
  DeviceSnapshot device = FilledDevice("a", 0);
  device.resident_limit = 3;
  device.resident = 2;
  for (int task : {10, 11}) {
    device.residents.push_back(
        {.job = JobId(task), .memory_bytes = 5, .is_evictable = true, .evictable_at = kNow});
  }
  ClusterSnapshot snapshot = {
      .now = kNow,
      .devices = {device},
      .pending = {JobThatNeeds(1, 0), JobThatNeeds(2, 4), JobThatNeeds(3, 6)}};
  snapshot.pending[0].priority = -1;
  snapshot.pending[0].tenant = "other";
  snapshot.pending[1].priority = 1;
  snapshot.pending[2].reserved = Reservation{device.key, kNow + absl::Seconds(1)};
  // The last seat is kept for job 3, until both tasks go for job 2.
  EXPECT_EQ(PlacementsOf(snapshot, FifoPolicy()), (std::vector<Placement>{{JobId(1), device.key}}));
}

TEST(StandingPlannerTest, EqualDevicesAreTakenInDeviceOrderWhateverOrderTheyCameIn) {
  const FifoPolicy fifo;
  StandingPlanner planner(fifo);
  // Between the first two, each next to the one before: nothing is left between neighbours soon.
  planner.SetDevice(FilledDevice("a", 1));
  planner.SetDevice(FilledDevice("b", 1));
  for (int i = 0; i < 100; ++i) planner.SetDevice(FilledDevice(absl::StrCat("a", 999 - i), 1));
  for (int i = 0; i < 103; ++i) planner.SetJob(JobThatNeeds(i + 1, 1));
  const Plan plan = planner.MakePlan(kNow);
  ASSERT_EQ(plan.placements.size(), 102);
  EXPECT_EQ(plan.placements.front().device.node, "a");
  EXPECT_EQ(plan.placements.back().device.node, "b");
  for (size_t i = 1; i < plan.placements.size(); ++i) {
    EXPECT_LT(plan.placements[i - 1].device, plan.placements[i].device);
  }
}

TEST(StandingPlannerTest, AnotherPolicyScoresWhatIsKnownAlready) {
  const FifoPolicy fifo;
  const MakespanPolicy makespan;
  StandingPlanner planner(fifo);
  planner.SetDevice(FilledDevice("a", 1));
  for (int i = 1; i <= 20; ++i) {
    PendingJob job = JobThatNeeds(i, 1);
    job.seconds_left = i;
    planner.SetJob(job);
  }
  planner.SetPolicy(makespan);
  EXPECT_EQ(planner.MakePlan(kNow).placements.front().job, JobId(20));
}

TEST(StandingPlannerTest, AsksForAPlanWhenATaskWillBeOldEnoughToBeEvicted) {
  const FifoPolicy fifo;
  StandingPlanner planner(fifo);
  DeviceSnapshot device = FilledDevice("a", 0);
  device.resident = 1;
  device.residents = {{.job = JobId(10),
                       .memory_bytes = 5,
                       .is_evictable = true,
                       .evictable_at = kNow + absl::Seconds(3)}};
  planner.SetDevice(device);
  PendingJob job = JobThatNeeds(1, 5);
  job.priority = 1;
  planner.SetJob(job);
  EXPECT_EQ(planner.MakePlan(kNow).next_plan, kNow + absl::Seconds(3));
  const Plan plan = planner.MakePlan(kNow + absl::Seconds(3));
  ASSERT_EQ(plan.evictions.size(), 1);
  EXPECT_EQ(plan.next_plan, std::nullopt);
}

}  // namespace
}  // namespace pipefill
