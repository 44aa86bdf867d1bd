#include "scheduler/journal/recovery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "scheduler/journal/memory_journal.h"
#include "scheduler/journal/record.h"
#include "scheduler/testing/builders.h"

namespace pipefill::scheduler {
namespace {

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
  EXPECT_EQ(state_.NextDeadline(), AtSecond(115));
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

}  // namespace
}  // namespace pipefill::scheduler
