#include "planner/planner.h"

#include <gtest/gtest.h>

#include <vector>

#include "planner/feasibility.h"
#include "planner/policies/fifo.h"

namespace pipefill {
namespace {

constexpr int64_t kMiB = 1 << 20;

DeviceSnapshot OpenDevice(const std::string& name, int seats = 1) {
  return {.key = {"a", name},
          .memory_bytes = 1024 * kMiB,
          .memory_free_bytes = 1024 * kMiB,
          .resident = 0,
          .resident_limit = seats,
          .main_job = MainJobUse::kFilled};
}

PendingJob Pending(int64_t id, int64_t bytes = 100 * kMiB) {
  return {.id = JobId(id), .memory_bytes = bytes, .not_before = std::nullopt};
}

// Prefers large jobs, and scores all devices the same.
class LargestFirst : public Policy {
 public:
  std::string name() const override { return "largest"; }
  Score ScoreJob(const PendingJob& job, const TenantSnapshot&) const override {
    return {static_cast<double>(job.memory_bytes)};
  }
};

class PlannerTest : public testing::Test {
 protected:
  Plan PlanWith(const Policy& policy) { return MakePlan(snapshot_, policy); }
  Plan PlanFifo() { return PlanWith(FifoPolicy()); }

  PendingCode ReasonOf(size_t pending, const Plan& plan) {
    return ExplainWaiting(snapshot_.pending[pending], plan, snapshot_.now).code;
  }

  ClusterSnapshot snapshot_;
};

TEST_F(PlannerTest, PlacesJobsInOrderUntilSeatsAreTaken) {
  snapshot_.devices = {OpenDevice("cpu0"), OpenDevice("cpu1")};
  snapshot_.pending = {Pending(4), Pending(7), Pending(9)};

  const Plan plan = PlanFifo();

  EXPECT_EQ(plan.placements,
            (std::vector<Placement>{{JobId(4), {"a", "cpu0"}}, {JobId(7), {"a", "cpu1"}}}));
  EXPECT_EQ(ReasonOf(2, plan), PendingCode::kResidentLimit);
}

TEST_F(PlannerTest, AJobGoesWhereItsUserWantsItIfItFitsThere) {
  snapshot_.devices = {OpenDevice("cpu0"), OpenDevice("cpu1"), OpenDevice("cpu2")};
  PendingJob job = Pending(4);
  job.preferred = DeviceKey{"a", "cpu2"};
  snapshot_.pending = {job};
  EXPECT_EQ(PlanFifo().placements, (std::vector<Placement>{{JobId(4), {"a", "cpu2"}}}));

  snapshot_.devices[2].resident = 1;
  EXPECT_EQ(PlanFifo().placements, (std::vector<Placement>{{JobId(4), {"a", "cpu0"}}}));
  snapshot_.pending[0].preferred = DeviceKey{"b", "cpu2"};
  EXPECT_EQ(PlanFifo().placements.size(), 1U);
}

TEST_F(PlannerTest, SpreadsJobsBeforeItPutsTwoOnOneDevice) {
  snapshot_.devices = {OpenDevice("cpu0", 2), OpenDevice("cpu1", 2)};
  snapshot_.pending = {Pending(1), Pending(2), Pending(3)};

  const Plan plan = PlanFifo();

  EXPECT_EQ(plan.placements,
            (std::vector<Placement>{
                {JobId(1), {"a", "cpu0"}}, {JobId(2), {"a", "cpu1"}}, {JobId(3), {"a", "cpu0"}}}));
}

TEST_F(PlannerTest, JobThatFitsNowhereDoesNotHoldUpTheNext) {
  snapshot_.devices = {OpenDevice("cpu0")};
  snapshot_.pending = {Pending(1, 2048 * kMiB), Pending(2)};

  const Plan plan = PlanFifo();

  EXPECT_EQ(plan.placements, (std::vector<Placement>{{JobId(2), {"a", "cpu0"}}}));
}

TEST_F(PlannerTest, CountsMemoryOfJobsItHasJustPlaced) {
  snapshot_.devices = {OpenDevice("cpu0", 3)};
  snapshot_.pending = {Pending(1, 600 * kMiB), Pending(2, 600 * kMiB), Pending(3, 400 * kMiB)};

  const Plan plan = PlanFifo();

  EXPECT_EQ(plan.placements,
            (std::vector<Placement>{{JobId(1), {"a", "cpu0"}}, {JobId(3), {"a", "cpu0"}}}));
  EXPECT_EQ(ReasonOf(1, plan), PendingCode::kMemory);
  EXPECT_EQ(plan.numbers.best_free_bytes, 24 * kMiB);
}

TEST_F(PlannerTest, HighestScoreOfThePolicyWins) {
  snapshot_.devices = {OpenDevice("cpu0")};
  snapshot_.pending = {Pending(1, 100 * kMiB), Pending(2, 300 * kMiB), Pending(3, 200 * kMiB)};

  const Plan plan = PlanWith(LargestFirst());

  EXPECT_EQ(plan.placements, (std::vector<Placement>{{JobId(2), {"a", "cpu0"}}}));
}

TEST_F(PlannerTest, EqualScoresGoToLowerJobThenToEarlierDevice) {
  snapshot_.devices = {OpenDevice("cpu0"), OpenDevice("cpu1")};
  snapshot_.pending = {Pending(5), Pending(6)};

  const Plan plan = PlanWith(LargestFirst());

  EXPECT_EQ(plan.placements,
            (std::vector<Placement>{{JobId(5), {"a", "cpu0"}}, {JobId(6), {"a", "cpu1"}}}));
}

TEST_F(PlannerTest, BackingOffJobWaitsAndAsksToBePlannedAgain) {
  snapshot_.now = Instant::FromNs(100);
  snapshot_.devices = {OpenDevice("cpu0")};
  snapshot_.pending = {Pending(1), Pending(2)};
  snapshot_.pending[0].not_before = Instant::FromNs(500);

  const Plan plan = PlanFifo();

  EXPECT_EQ(plan.placements, (std::vector<Placement>{{JobId(2), {"a", "cpu0"}}}));
  EXPECT_EQ(plan.next_plan, Instant::FromNs(500));
}

TEST_F(PlannerTest, PlanNeedsNoTimerWhenOnlyEventsCanChangeIt) {
  snapshot_.pending = {Pending(1)};
  EXPECT_EQ(PlanFifo().next_plan, std::nullopt);
}

// A task that has run for its least time.
ResidentTask Task(int64_t job, int32_t priority, int64_t bytes = 100 * kMiB) {
  return {.job = JobId(job), .priority = priority, .memory_bytes = bytes, .is_evictable = true};
}

DeviceSnapshot TakenDevice(const std::string& name, const ResidentTask& task) {
  DeviceSnapshot device = OpenDevice(name);
  device.resident = 1;
  device.memory_free_bytes -= task.memory_bytes;
  device.residents = {task};
  return device;
}

TEST_F(PlannerTest, HigherPriorityEvictsTheLowestAndThePlaceIsKeptForIt) {
  snapshot_.devices = {TakenDevice("cpu0", Task(1, 2)), TakenDevice("cpu1", Task(2, 1))};
  snapshot_.pending = {Pending(5), Pending(6)};
  snapshot_.pending[1].priority = 3;

  Plan plan = PlanFifo();

  EXPECT_EQ(plan.evictions, (std::vector<Eviction>{{JobId(2), {"a", "cpu1"}, JobId(6)}}));
  EXPECT_TRUE(plan.placements.empty());
  // While the task is being stopped, nothing further is evicted; when it has gone, nobody else gets
  // its place.
  snapshot_.devices[1].residents[0].is_leaving = true;
  snapshot_.pending[1].reserved = Reservation{{"a", "cpu1"}, Instant::FromNs(100)};
  plan = PlanFifo();
  EXPECT_TRUE(plan.evictions.empty());
  EXPECT_EQ(plan.next_plan, Instant::FromNs(100));
  EXPECT_EQ(ReasonOf(1, plan), PendingCode::kReserved);
  snapshot_.devices[1] = OpenDevice("cpu1");
  snapshot_.pending[1].memory_bytes = 100 * kMiB;
  const Placement expected{JobId(6), {"a", "cpu1"}};
  EXPECT_EQ(PlanFifo().placements, std::vector<Placement>{expected});
  // Unless it does not come in time.
  snapshot_.now = Instant::FromNs(100);
  snapshot_.pending[1].not_before = Instant::FromNs(200);
  EXPECT_EQ(PlanFifo().placements, (std::vector<Placement>{{JobId(5), {"a", "cpu1"}}}));
}

TEST_F(PlannerTest, EqualsNeverEvictNorDoesOneThatWouldNotFitThen) {
  snapshot_.devices = {TakenDevice("cpu0", Task(1, 3))};
  snapshot_.pending = {Pending(5), Pending(6, 2048 * kMiB)};
  snapshot_.pending[0].priority = 3;
  snapshot_.pending[1].priority = 9;
  EXPECT_TRUE(PlanFifo().evictions.empty());
}

TEST_F(PlannerTest, TaskIsLeftAloneUntilItsLeastTimeIsOver) {
  snapshot_.devices = {TakenDevice("cpu0", Task(1, 0))};
  snapshot_.devices[0].residents[0].evictable_at = Instant::FromNs(500);
  snapshot_.pending = {Pending(5)};
  snapshot_.pending[0].priority = 1;
  EXPECT_TRUE(PlanFifo().evictions.empty());
  EXPECT_EQ(PlanFifo().next_plan, Instant::FromNs(500));
  snapshot_.now = Instant::FromNs(500);
  EXPECT_EQ(PlanFifo().evictions.size(), 1U);
  snapshot_.devices[0].residents[0].is_evictable = false;
  EXPECT_TRUE(PlanFifo().evictions.empty());
}

TEST_F(PlannerTest, TenantOverItsLimitWaitsUnlessItMayBorrowWhatNobodyWants) {
  snapshot_.devices = {OpenDevice("cpu0", 2)};
  snapshot_.pending = {Pending(1), Pending(2), Pending(3)};
  snapshot_.pending[0].tenant = snapshot_.pending[1].tenant = "a";
  snapshot_.tenants["a"].resident_max = 1;

  Plan plan = PlanFifo();
  EXPECT_EQ(plan.placements,
            (std::vector<Placement>{{JobId(1), {"a", "cpu0"}}, {JobId(3), {"a", "cpu0"}}}));

  snapshot_.pending.pop_back();
  plan = PlanFifo();
  EXPECT_EQ(plan.placements.size(), 1U);
  const PendingReason reason = ExplainWaiting(snapshot_.pending[1], plan, snapshot_.now);
  EXPECT_EQ(reason.code, PendingCode::kQuota);
  EXPECT_EQ(reason.tenant_resident, 1);

  snapshot_.tenants["a"].may_borrow = true;
  EXPECT_EQ(PlanFifo().placements.size(), 2U);
}

TEST_F(PlannerTest, QuarantinedNodeGetsNothing) {
  snapshot_.devices = {OpenDevice("cpu0")};
  snapshot_.devices[0].is_quarantined = true;
  snapshot_.pending = {Pending(1)};
  const Plan plan = PlanFifo();
  EXPECT_TRUE(plan.placements.empty());
  EXPECT_EQ(ReasonOf(0, plan), PendingCode::kQuarantine);
}

}  // namespace
}  // namespace pipefill
