#include "scheduler/core/why.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/policies/fifo.h"
#include "scheduler/testing/builders.h"

namespace pipefill::scheduler {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class WhyTest : public testing::Test {
 protected:
  // A device of 1 GiB and one seat, with a task if it has any memory.
  void AddDevice(const std::string& name, ResidentTask task = {}) {
    DeviceSnapshot device{.key = {"a", name},
                          .memory_bytes = 1024 * kMiB,
                          .memory_free_bytes = 1024 * kMiB - task.memory_bytes,
                          .resident = task.memory_bytes > 0 ? 1 : 0,
                          .resident_limit = 1,
                          .main_job = MainJobUse::kFilled};
    if (task.memory_bytes > 0) device.residents = {task};
    planner_.SetDevice(device);
  }

  PendingJob Waiting(int64_t id, int64_t memory_bytes) {
    return {.id = JobId(id), .memory_bytes = memory_bytes, .not_before = std::nullopt};
  }

  std::optional<WaitDetail> Detail(int64_t id) {
    const Plan plan = planner_.MakePlan(AtSecond(10));
    return DetailWaiting(planner_, plan, JobId(id), quarantines_, AtSecond(10));
  }

  const FifoPolicy policy_;
  StandingPlanner planner_{policy_};
  QuarantineMap quarantines_;
};

TEST_F(WhyTest, MemorySaysHowMuchLessWouldDo) {
  AddDevice("cpu0");
  planner_.SetDevice({.key = {"b", "cpu0"},
                      .memory_bytes = 4096 * kMiB,
                      .memory_free_bytes = 512 * kMiB,
                      .resident_limit = 2,
                      .main_job = MainJobUse::kFilled});
  planner_.SetJob(Waiting(1, 2048 * kMiB));
  const auto detail = Detail(1);
  EXPECT_EQ(detail->rule,
            "needs 2 GiB; the most that is free on a device with a free seat is 1 GiB (node a, "
            "cpu0)");
  EXPECT_EQ(detail->need_bytes, 2048 * kMiB);
  EXPECT_EQ(detail->have_bytes, 1024 * kMiB);
  EXPECT_EQ(detail->nearest, (DeviceKey{"a", "cpu0"}));
  EXPECT_THAT(detail->help, ElementsAre("would start now with 1 GiB less, on a/cpu0"));
}

TEST_F(WhyTest, TakenSeatNamesTheTaskAndWhatItWouldTake) {
  AddDevice("cpu0", {.job = JobId(7), .priority = 5, .memory_bytes = kMiB, .is_evictable = true});
  planner_.SetJob(Waiting(8, kMiB));
  auto detail = Detail(8);
  EXPECT_EQ(detail->nearest, (DeviceKey{"a", "cpu0"}));
  EXPECT_THAT(detail->help,
              ElementsAre("job 7 of priority 5 holds the place on a/cpu0; with priority 6 or more "
                          "this job could take it"));
  AddDevice("cpu0", {.job = JobId(7),
                     .priority = -1,
                     .memory_bytes = kMiB,
                     .is_evictable = true,
                     .evictable_at = AtSecond(22)});
  EXPECT_THAT(Detail(8)->help,
              ElementsAre("job 7 of priority -1 holds the place on a/cpu0; it may be evicted in 12 "
                          "s, when it has run for its least time"));
  AddDevice("cpu0", {.job = JobId(7), .priority = -1, .memory_bytes = kMiB});
  EXPECT_THAT(Detail(8)->help,
              ElementsAre("job 7 of priority -1 holds the place on a/cpu0; it has not started yet, "
                          "or its user does not let it be evicted"));
}

TEST_F(WhyTest, PlaceIsThatInTheOrderOfThePolicy) {
  planner_.SetJob(Waiting(1, kMiB));
  planner_.SetJob(Waiting(2, kMiB));
  PendingJob urgent = Waiting(3, kMiB);
  urgent.priority = 1;
  planner_.SetJob(urgent);
  EXPECT_EQ(Detail(3)->place, 1U);
  EXPECT_EQ(Detail(2)->place, 3U);
  EXPECT_EQ(Detail(2)->waiting, 3U);
  EXPECT_THAT(Detail(2)->help, IsEmpty());
}

TEST_F(WhyTest, QuarantineSaysWhenAndWhy) {
  planner_.SetDevice({.key = {"a", "cpu0"},
                      .memory_bytes = kMiB,
                      .memory_free_bytes = kMiB,
                      .resident_limit = 1,
                      .main_job = MainJobUse::kFilled,
                      .is_quarantined = true});
  quarantines_["a"] = {AtSecond(40), "disk full"};
  planner_.SetJob(Waiting(1, kMiB));
  EXPECT_THAT(Detail(1)->help, ElementsAre("node a is tried again in 30 s: disk full"));
}

TEST_F(WhyTest, JobThatIsNotKnownHasNoReason) { EXPECT_EQ(Detail(1), std::nullopt); }

}  // namespace
}  // namespace pipefill::scheduler
