// A job that ran out of memory is tried once more, with a larger cap.
#include <gtest/gtest.h>

#include "scheduler/core/cluster_state.h"
#include "scheduler/core/reconcile.h"
#include "scheduler/testing/builders.h"

namespace pipefill::scheduler {
namespace {

class LargerAskTest : public ::testing::Test {
 protected:
  void Apply(const Event& event) {
    const absl::Status status = state_.Check(event, AtSecond(0));
    ASSERT_TRUE(status.ok()) << status;
    state_.Apply(event, TimeAt(0));
  }
  void Register(const std::vector<Device>& devices) { Apply(HelloFrom("a", 1, devices)); }
  AttemptKey Run(int64_t memory_bytes, int32_t retries = 0) {
    const JobId id = state_.next_job_id();
    Apply(JobSubmitted{id, "", SpecThatNeeds(memory_bytes, retries)});
    return Place(id);
  }
  AttemptKey Place(JobId id) {
    const AttemptKey key = state_.NextAttempt(id);
    Apply(AttemptPlaced{key, {"a", "cpu0"}});
    return key;
  }
  void End(const AttemptKey& key, EndCause cause) {
    for (const Event& event : ReconcileEnd(state_, "a", EndOf(key, cause)).events) Apply(event);
  }
  const Job& Get(JobId id) { return **state_.FindJob(id); }

  ClusterState state_{ClusterLimits{}};
};

TEST_F(LargerAskTest, SecondAttemptHasTwiceTheCapThoughTheJobHasNoRetries) {
  Register({FilledDevice("a", "cpu0", 1, 1024 * kMiB)});
  const AttemptKey first = Run(100 * kMiB);
  End(first, EndCause::kOutOfMemory);
  EXPECT_EQ(Get(first.job).phase, JobPhase::kPending);
  EXPECT_EQ(Get(first.job).memory_bytes, 200 * kMiB);
  EXPECT_EQ(Get(first.job).spec->memory_bytes, 100 * kMiB);
  EXPECT_FALSE(Get(first.job).not_before.has_value());
  ASSERT_EQ(state_.Snapshot(TimeAt(0)).pending.size(), 1u);
  EXPECT_EQ(state_.Snapshot(TimeAt(0)).pending[0].memory_bytes, 200 * kMiB);
}

TEST_F(LargerAskTest, LaunchCarriesTheLargerCapAndItIsTakenOffTheDevice) {
  Register({FilledDevice("a", "cpu0", 2, 1024 * kMiB)});
  const AttemptKey first = Run(100 * kMiB);
  End(first, EndCause::kOutOfMemory);
  const AttemptKey second = Place(first.job);
  const Action action = ActionForPlacement(state_, AttemptPlaced{second, {"a", "cpu0"}});
  EXPECT_EQ(std::get<LaunchAttempt>(action).memory_bytes, 200 * kMiB);
  EXPECT_EQ(state_.Snapshot(TimeAt(0)).devices[0].memory_free_bytes, 824 * kMiB);
}

TEST_F(LargerAskTest, ItIsTriedOnceOnly) {
  Register({FilledDevice("a", "cpu0", 1, 1024 * kMiB)});
  const AttemptKey first = Run(100 * kMiB);
  End(first, EndCause::kOutOfMemory);
  End(Place(first.job), EndCause::kOutOfMemory);
  EXPECT_EQ(Get(first.job).phase, JobPhase::kFailed);
}

TEST_F(LargerAskTest, OrdinaryRetriesAreLeftForLaterAndKeepTheLargerCap) {
  Register({FilledDevice("a", "cpu0", 1, 1024 * kMiB)});
  const AttemptKey first = Run(100 * kMiB, 1);
  End(first, EndCause::kOutOfMemory);
  EXPECT_EQ(Get(first.job).failures, 0);
  End(Place(first.job), EndCause::kSignalled);
  EXPECT_EQ(Get(first.job).phase, JobPhase::kPending);
  EXPECT_EQ(Get(first.job).memory_bytes, 200 * kMiB);
}

TEST_F(LargerAskTest, AsksForWhatTheLargestDeviceHasIfThatIsAQuarterMore) {
  Register({FilledDevice("a", "cpu0", 1, 150 * kMiB)});
  const AttemptKey first = Run(100 * kMiB);
  End(first, EndCause::kOutOfMemory);
  EXPECT_EQ(Get(first.job).memory_bytes, 150 * kMiB);
}

TEST_F(LargerAskTest, FailsAtOnceWhereNoDeviceHasMore) {
  Register({FilledDevice("a", "cpu0", 1, 120 * kMiB)});
  const AttemptKey first = Run(100 * kMiB);
  End(first, EndCause::kOutOfMemory);
  EXPECT_EQ(Get(first.job).phase, JobPhase::kFailed);
  EXPECT_EQ(Get(first.job).memory_bytes, 100 * kMiB);
}

TEST_F(LargerAskTest, WhatTheMainRankUsesIsNotAskedFor) {
  Device device = FilledDevice("a", "cpu0", 1, 1024 * kMiB);
  device.memory_free_bytes = 110 * kMiB;
  Register({device});
  const AttemptKey first = Run(100 * kMiB);
  End(first, EndCause::kOutOfMemory);
  EXPECT_EQ(Get(first.job).phase, JobPhase::kFailed);
}

TEST_F(LargerAskTest, DeviceWithoutAMainJobToFillDoesNotCount) {
  Device unfilled = FilledDevice("a", "cpu1", 1, 1024 * kMiB);
  unfilled.main_rank = std::nullopt;
  Register({FilledDevice("a", "cpu0", 1, 110 * kMiB), unfilled});
  const AttemptKey first = Run(100 * kMiB);
  End(first, EndCause::kOutOfMemory);
  EXPECT_EQ(Get(first.job).phase, JobPhase::kFailed);
}

TEST_F(LargerAskTest, OtherFailuresAreNoReasonForMore) {
  Register({FilledDevice("a", "cpu0", 1, 1024 * kMiB)});
  const AttemptKey first = Run(100 * kMiB);
  End(first, EndCause::kSignalled);
  EXPECT_EQ(Get(first.job).phase, JobPhase::kFailed);
}

TEST_F(LargerAskTest, CancelledJobIsNotTriedAgain) {
  Register({FilledDevice("a", "cpu0", 1, 1024 * kMiB)});
  const AttemptKey first = Run(100 * kMiB);
  Apply(CancelRequested{first.job});
  End(first, EndCause::kOutOfMemory);
  EXPECT_EQ(Get(first.job).phase, JobPhase::kCancelled);
}

}  // namespace
}  // namespace pipefill::scheduler
