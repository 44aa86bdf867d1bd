#include "planner/planner.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

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
  Score ScorePair(const PendingJob& job, const DeviceSnapshot&, const ClusterSnapshot&,
                  absl::BitGenRef) const override {
    return {static_cast<double>(job.memory_bytes)};
  }
};

class PlannerTest : public testing::Test {
 protected:
  Plan PlanWith(const Policy& policy) { return MakePlan(snapshot_, policy, random_); }
  Plan PlanFifo() { return PlanWith(FifoPolicy()); }

  ClusterSnapshot snapshot_;
  std::mt19937_64 random_{1};
};

TEST_F(PlannerTest, PlacesJobsInOrderUntilSeatsAreTaken) {
  snapshot_.devices = {OpenDevice("cpu0"), OpenDevice("cpu1")};
  snapshot_.pending = {Pending(4), Pending(7), Pending(9)};

  const Plan plan = PlanFifo();

  EXPECT_EQ(plan.placements,
            (std::vector<Placement>{{JobId(4), {"a", "cpu0"}}, {JobId(7), {"a", "cpu1"}}}));
  ASSERT_EQ(plan.waiting.size(), 1U);
  EXPECT_EQ(plan.waiting[0].job, JobId(9));
  EXPECT_EQ(plan.reasons[plan.waiting[0].reason].code, PendingCode::kResidentLimit);
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
  ASSERT_EQ(plan.waiting.size(), 1U);
  const PendingReason& reason = plan.reasons[plan.waiting[0].reason];
  EXPECT_EQ(reason.code, PendingCode::kMemory);
  EXPECT_EQ(reason.best_free_bytes, 24 * kMiB);
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

TEST_F(PlannerTest, JobsWithTheSameNeedShareTheirReason) {
  snapshot_.pending = {Pending(1), Pending(2), Pending(3, kMiB)};

  const Plan plan = PlanFifo();

  EXPECT_EQ(plan.waiting.size(), 3U);
  EXPECT_EQ(plan.reasons.size(), 2U);
}

TEST_F(PlannerTest, PlaceInLineIsKnownForWaitingJobsOnly) {
  snapshot_.devices = {OpenDevice("cpu0")};
  snapshot_.pending = {Pending(1), Pending(2), Pending(3)};

  const Plan plan = PlanFifo();

  EXPECT_EQ(plan.PlaceInLine(JobId(1)), std::nullopt);
  EXPECT_EQ(plan.PlaceInLine(JobId(3)), 1U);
}

}  // namespace
}  // namespace pipefill
