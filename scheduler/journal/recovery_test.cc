#include "scheduler/journal/recovery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>

#include "scheduler/journal/memory_journal.h"
#include "scheduler/journal/memory_snapshots.h"
#include "scheduler/journal/record.h"
#include "scheduler/testing/builders.h"

namespace pipefill::scheduler {
namespace {

using testing::ElementsAre;
using testing::StartsWith;

class RecoveryTest : public testing::Test {
 protected:
  void Write(const Event& event) {
    ASSERT_TRUE(journal_.Append({EncodeRecord(event, TimeAt(1).wall)}).ok());
  }

  MemoryJournal journal_;
  ClusterState state_{ClusterLimits{}};
};

TEST_F(RecoveryTest, EmptyJournalGivesEmptyState) {
  ASSERT_TRUE(Recover(journal_, AtSecond(100), &state_).ok());
  EXPECT_EQ(state_.next_job_id(), JobId(1));
}

TEST_F(RecoveryTest, JobsIdsAndFencesGoOnWhereTheyStopped) {
  Write(JobSubmitted{JobId(1), "k", SpecThatNeeds(kMiB)});
  Write(AttemptPlaced{{JobId(1), AttemptNumber(1), Fence(1)}, {"a", "cpu0"}});
  Write(EndOf({JobId(1), AttemptNumber(1), Fence(1)}, EndCause::kLost));

  ASSERT_TRUE(Recover(journal_, AtSecond(100), &state_).ok());

  EXPECT_EQ(state_.next_job_id(), JobId(2));
  EXPECT_EQ(state_.NextAttempt(JobId(1)), (AttemptKey{JobId(1), AttemptNumber(2), Fence(2)}));
  EXPECT_EQ(*state_.FindSubmission("k", SpecThatNeeds(kMiB)), JobId(1));
  EXPECT_EQ((*state_.FindJob(JobId(1)))->submitted_at, TimeAt(1).wall);
}

TEST_F(RecoveryTest, LastSettingsOfAMainJobHoldAlthoughNoRankIsAttached) {
  Write(MainJobUpdated{PausedMainJob("gpt")});
  MainJobSettings later = PausedMainJob("gpt");
  later.budget_ppm = 2'000;
  Write(MainJobUpdated{later});

  ASSERT_TRUE(Recover(journal_, AtSecond(100), &state_).ok());

  EXPECT_EQ(state_.main_jobs().SettingsOf("gpt"), later);
}

TEST_F(RecoveryTest, RunningAttemptsWaitForTheirAgent) {
  Write(JobSubmitted{JobId(1), "", SpecThatNeeds(kMiB)});
  Write(AttemptPlaced{{JobId(1), AttemptNumber(1), Fence(1)}, {"a", "cpu0"}});
  ASSERT_TRUE(Recover(journal_, AtSecond(100), &state_).ok());
  EXPECT_EQ(state_.NextDeadline(AtSecond(100)), AtSecond(115));
}

TEST_F(RecoveryTest, RecordThatCannotFollowIsDataLossWithItsNumber) {
  Write(JobSubmitted{JobId(1), "", SpecThatNeeds(kMiB)});
  Write(CancelRequested{JobId(2)});
  const absl::Status status = Recover(journal_, AtSecond(100), &state_);
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), StartsWith("journal record 2: "));
}

TEST_F(RecoveryTest, RecordOfNewerVersionIsRefusedAsSuch) {
  ASSERT_TRUE(journal_.Append({std::string("\xc2\x0c\x00", 3)}).ok());
  EXPECT_EQ(Recover(journal_, AtSecond(100), &state_).code(),
            absl::StatusCode::kFailedPrecondition);
}

class StoreRecoveryTest : public RecoveryTest {
 protected:
  StoreRecoveryTest() {
    for (int64_t id = 1; id <= 9; ++id) {
      Write(JobSubmitted{JobId(id), "", SpecThatNeeds(kMiB)});
      if (id == 3 || id == 6) TakeSnapshot(id);
    }
  }

  void TakeSnapshot(int64_t jobs) {
    ClusterState state{ClusterLimits{}};
    ASSERT_TRUE(Recover(journal_, AtSecond(1), &state).ok());
    const SnapshotStamp stamp = {.sequence = jobs, .wall = TimeAt(1).wall};
    SnapshotStore& store = snapshots_;
    ASSERT_TRUE(
        store.Write(FrameWriter(SnapshotEncoder(state.Durable(), stamp)), std::atomic<bool>(false))
            .ok());
  }

  absl::StatusOr<Recovered> RecoverAll() {
    return RecoverStore(journal_, snapshots_, ClusterLimits{}, AtSecond(100));
  }

  MemorySnapshots snapshots_;
};

TEST_F(StoreRecoveryTest, BeginsWithTheNewestSnapshot) {
  const auto recovered = RecoverAll();
  ASSERT_TRUE(recovered.ok()) << recovered.status();
  EXPECT_EQ(recovered->snapshot_sequence, 6);
  EXPECT_EQ(recovered->older_snapshot_sequence, 3);
  EXPECT_EQ(recovered->records, 3);
  EXPECT_EQ(recovered->state.next_job_id(), JobId(10));
}

TEST_F(StoreRecoveryTest, DamagedSnapshotIsSaidAndTheOneBeforeIsUsed) {
  ASSERT_TRUE(*journal_.RemoveUpTo(3, 100));
  snapshots_.bytes(6).pop_back();
  const auto recovered = RecoverAll();
  ASSERT_TRUE(recovered.ok()) << recovered.status();
  EXPECT_EQ(recovered->snapshot_sequence, 3);
  EXPECT_EQ(recovered->records, 6);
  ASSERT_EQ(recovered->warnings.size(), 1U);
  EXPECT_THAT(recovered->warnings[0], StartsWith("the snapshot is damaged: "));
}

// A damaged one that still counted would push out the only good one.
TEST_F(StoreRecoveryTest, DamagedSnapshotIsSetAsideAndTheGoodOneStaysBehindTheNext) {
  snapshots_.bytes(6).pop_back();
  const auto recovered = RecoverAll();
  ASSERT_TRUE(recovered.ok()) << recovered.status();
  EXPECT_THAT(recovered->damaged_snapshots, ElementsAre(6));
  ASSERT_TRUE(SetAsideDamaged(*recovered, snapshots_).ok());

  TakeSnapshot(9);
  ASSERT_TRUE(snapshots_.RemoveOlder(2).ok());
  EXPECT_THAT(*snapshots_.List(), ElementsAre(9, 3));
  ASSERT_TRUE(*journal_.RemoveUpTo(recovered->snapshot_sequence, 100));
  snapshots_.bytes(9).pop_back();

  const auto again = RecoverAll();
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->snapshot_sequence, 3);
  EXPECT_EQ(again->state.next_job_id(), JobId(10));
}

TEST_F(StoreRecoveryTest, OlderStateThanTheNewestSnapshotIsRefused) {
  journal_.LoseNewest(4);
  snapshots_.bytes(6).pop_back();
  EXPECT_EQ(RecoverAll().status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(StoreRecoveryTest, RecordsMissingAtTheEndAreFound) {
  journal_.LoseNewest(2);
  const absl::Status status = RecoverAll().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(status.message(),
            "journal records 8 to 9 were on disk and are gone; see `schedulerd check`");
}

TEST_F(StoreRecoveryTest, BothSnapshotsDamagedIsRefusedOnceRecordsAreRemoved) {
  ASSERT_TRUE(*journal_.RemoveUpTo(3, 100));
  snapshots_.bytes(3).pop_back();
  snapshots_.bytes(6).pop_back();
  EXPECT_EQ(RecoverAll().status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(StoreRecoveryTest, RecordsGoOnBehindASnapshotWithoutJournal) {
  MemoryJournal empty;
  const auto recovered = RecoverStore(empty, snapshots_, ClusterLimits{}, AtSecond(100));
  ASSERT_TRUE(recovered.ok()) << recovered.status();
  ASSERT_TRUE(empty.Append({"x"}).ok());
  EXPECT_EQ(empty.last_sequence(), 7);
}

}  // namespace
}  // namespace pipefill::scheduler
