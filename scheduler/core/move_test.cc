#include "scheduler/core/move.h"

#include <gtest/gtest.h>

#include <string>

#include "scheduler/testing/builders.h"

namespace pipefill::scheduler {
namespace {

// Job 1 runs on a/cpu0; a/cpu1 has less memory than b/cpu0.
class MoveTest : public testing::Test {
 protected:
  MoveTest() {
    Apply(HelloFrom("a", 1, {FilledDevice("a", "cpu0"), FilledDevice("a", "cpu1", 1, 512 * kMiB)}));
    Apply(HelloFrom("b", 2, {FilledDevice("b", "cpu0")}));
    Apply(JobSubmitted{JobId(1), "", SpecThatNeeds(256 * kMiB)});
    key_ = state_.NextAttempt(JobId(1));
    Apply(AttemptPlaced{key_, {"a", "cpu0"}});
  }

  void Apply(const Event& event) {
    const absl::Status status = state_.Check(event, AtSecond(0));
    ASSERT_TRUE(status.ok()) << status;
    state_.Apply(event, TimeAt(0));
  }
  absl::StatusOr<DeviceKey> Choose(std::optional<DeviceKey> to = std::nullopt, int64_t job = 1) {
    return ChooseMove(state_, {.job = JobId(job), .to = to}, AtSecond(0));
  }

  ClusterState state_{ClusterLimits{}};
  AttemptKey key_;
};

TEST_F(MoveTest, GoesToTheOtherDeviceWithTheMostFreeMemory) {
  EXPECT_EQ(*Choose(), (DeviceKey{"b", "cpu0"}));
  EXPECT_EQ(*Choose(DeviceKey{"a", "cpu1"}), (DeviceKey{"a", "cpu1"}));
}

TEST_F(MoveTest, SaysWhyNotWithNumbers) {
  EXPECT_EQ(Choose(DeviceKey{"a", "cpu0"}).status().message(), "job 1 is on a/cpu0 already");
  EXPECT_EQ(Choose(DeviceKey{"a", "cpu7"}).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Choose(std::nullopt, 2).status().code(), absl::StatusCode::kNotFound);
  Apply(JobSubmitted{JobId(2), "", SpecThatNeeds(256 * kMiB)});
  EXPECT_EQ(Choose(std::nullopt, 2).status().message(),
            "job 2 is pending; only a running one can be moved");
  Apply(AttemptPlaced{state_.NextAttempt(JobId(2)), {"b", "cpu0"}});
  const absl::Status full = Choose(DeviceKey{"b", "cpu0"}).status();
  EXPECT_EQ(full.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(full.message(), "b/cpu0 cannot take job 1, which needs 256 MiB: it holds 1 of 1 tasks");
}

TEST_F(MoveTest, StaysWhereNoOtherDeviceCanTakeIt) {
  Apply(JobSubmitted{JobId(2), "", SpecThatNeeds(600 * kMiB)});
  Apply(AttemptPlaced{state_.NextAttempt(JobId(2)), {"b", "cpu0"}});
  EXPECT_EQ(Choose(std::nullopt, 2).status().message(),
            "no other device can take job 2 now; it stays on b/cpu0; see `pipefill devices`");
}

TEST_F(MoveTest, TheWishHoldsUntilTheNextAttemptIsPlaced) {
  Apply(MoveRequested{JobId(1), {"a", "cpu1"}});
  Apply(EndOf(key_, EndCause::kLost));
  const ClusterSnapshot snapshot = state_.Snapshot(TimeAt(0));
  ASSERT_EQ(snapshot.pending.size(), 1U);
  EXPECT_EQ(snapshot.pending[0].preferred, (DeviceKey{"a", "cpu1"}));
  Apply(AttemptPlaced{state_.NextAttempt(JobId(1)), {"b", "cpu0"}});
  EXPECT_EQ((*state_.FindJob(JobId(1)))->move_to, std::nullopt);
}

TEST_F(MoveTest, AJobThatIsBeingCancelledIsNotMoved) {
  Apply(CancelRequested{JobId(1)});
  EXPECT_EQ(Choose().status().message(), "job 1 is stopping; only a running one can be moved");
}

}  // namespace
}  // namespace pipefill::scheduler
