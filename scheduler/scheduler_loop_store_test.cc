// The loop and its store: full disks, snapshots, history.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "scheduler/testing/loop_fixture.h"

namespace pipefill::scheduler {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class SchedulerLoopStoreTest : public SchedulerLoopTest {
 protected:
  void FillDisk() { journal_.FailAppends(absl::ResourceExhaustedError("disk full")); }
  void FreeDisk() { journal_.FailAppends(absl::OkStatus()); }

  // Starts anew with these limits, on an empty store.
  void StartWith(int64_t snapshot_every) {
    limits_.compaction.snapshot_every = snapshot_every;
    limits_.compaction.slice = 3;
    Restart();
  }

  absl::StatusOr<std::vector<Submission>> SubmitMany(std::vector<NewJob> jobs) {
    absl::StatusOr<std::vector<Submission>> result = absl::UnknownError("not answered");
    SubmitManyRequest request{std::move(jobs), [&](auto answer) { result = std::move(answer); }};
    EXPECT_TRUE(loop_->Post(std::move(request)).ok());
    time_->RunReady();
    return result;
  }
};

TEST_F(SchedulerLoopStoreTest, FullDiskHoldsTheBatchBackAndAnswersNothing) {
  DialIn(1);
  FillDisk();

  EXPECT_EQ(Submit().status().message(), "not answered");
  EXPECT_TRUE(agents_.All<LaunchAttempt>().empty());
  EXPECT_EQ(board_.Latest()->jobs.size(), 0);
  EXPECT_TRUE(fatal_.ok()) << fatal_;
}

TEST_F(SchedulerLoopStoreTest, HeldBatchIsWrittenOnceThereIsSpace) {
  bool is_answered = false;
  FillDisk();
  ASSERT_TRUE(loop_
                  ->Post(SubmitRequest{"k", SpecThatNeeds(kMiB),
                                       [&](const auto& result) { is_answered = result.ok(); }})
                  .ok());
  time_->RunReady();
  time_->AdvanceBy(absl::Seconds(10));
  EXPECT_FALSE(is_answered);

  FreeDisk();
  time_->AdvanceBy(absl::Seconds(1));

  EXPECT_TRUE(is_answered);
  EXPECT_EQ(Get(1).key, "k");
  Restart();
  EXPECT_EQ(Get(1).key, "k");
}

TEST_F(SchedulerLoopStoreTest, NewJobsAreRefusedWhileTheLoopIsStalled) {
  FillDisk();
  EXPECT_EQ(Submit().status().message(), "not answered");

  const absl::Status refused = loop_->Post(SubmitRequest{"", SpecThatNeeds(kMiB), [](auto) {}});

  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("the disk of the state folder is full"));
}

TEST_F(SchedulerLoopStoreTest, EndOfAnAttemptIsWrittenWithTheReserve) {
  DialIn(1);
  ASSERT_TRUE(Submit().ok());
  FillDisk();
  space_.on_give_up_ = [this] { FreeDisk(); };

  Say(1, ExitOf(LastLaunched(), 0));

  EXPECT_EQ(Get(1).phase, JobPhase::kSucceeded);
  EXPECT_EQ(agents_.All<AcknowledgeEnd>().size(), 1U);
}

TEST_F(SchedulerLoopStoreTest, LittleSpaceRefusesNewJobsAndNothingElse) {
  DialIn(1);
  ASSERT_TRUE(Submit("k").ok());
  space_.status_ = absl::ResourceExhaustedError("the disk is full: free=1MiB");

  EXPECT_EQ(Submit().status(), space_.status_);
  EXPECT_EQ(SubmitMany({{"", SpecThatNeeds(kMiB)}}).status(), space_.status_);
  EXPECT_EQ(Submit("k")->job, JobId(1)) << "a repeated submission is no new job";
  Say(1, ExitOf(LastLaunched(), 0));
  EXPECT_EQ(Get(1).phase, JobPhase::kSucceeded);
  time_->AdvanceBy(absl::Seconds(4));
  EXPECT_EQ(board_.Latest()->store.refusing_text, "the disk is full: free=1MiB");

  space_.status_ = absl::OkStatus();
  EXPECT_TRUE(Submit().ok());
}

// Its reports wait in the inbox while the disk is full, so its silence means nothing.
TEST_F(SchedulerLoopStoreTest, NobodyIsGivenUpForWhatCouldNotBeHeard) {
  DialIn(1);
  ASSERT_TRUE(Submit().ok());
  FillDisk();
  Say(1, AttemptStarted{LastLaunched()});
  ASSERT_TRUE(
      loop_->Post(AgentSaid{SessionId(1), ReportFrom(1, {FilledDevice("a", "cpu0")}), nullptr})
          .ok());
  time_->AdvanceBy(absl::Seconds(60));

  FreeDisk();
  time_->AdvanceBy(absl::Seconds(1));
  PassReporting(5);

  EXPECT_EQ(Get(1).phase, JobPhase::kRunning);
  EXPECT_EQ(Get(1).attempts.size(), 1U);
}

TEST_F(SchedulerLoopStoreTest, OtherErrorsOfTheDiskAreFatal) {
  journal_.FailAppends(absl::InternalError("disk I/O error"));
  EXPECT_EQ(Submit().status().message(), "not answered");
  EXPECT_EQ(fatal_.code(), absl::StatusCode::kInternal);
}

TEST_F(SchedulerLoopStoreTest, SnapshotsKeepTheJournalShort) {
  StartWith(/*snapshot_every=*/10);
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(Submit(absl::StrCat("k", i)).ok());
  time_->AdvanceBy(absl::Seconds(4));

  EXPECT_EQ(snapshots_.writes(), 4);
  EXPECT_EQ(journal_.records().size(), 10U) << "all after the snapshot before the newest";
  EXPECT_LT(board_.Latest()->store.journal_records, 10);

  Restart();

  EXPECT_EQ(Get(40).key, "k39");
  EXPECT_EQ(Submit("k3")->job, JobId(4));
  EXPECT_EQ(Submit()->job, JobId(41));
}

TEST_F(SchedulerLoopStoreTest, NothingIsRemovedBeforeTheSnapshotIsOnDisk) {
  StartWith(/*snapshot_every=*/10);
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(Submit().ok());
  snapshots_.HoldBack();
  for (int i = 0; i < 30; ++i) ASSERT_TRUE(Submit().ok());
  time_->AdvanceBy(absl::Seconds(1));
  EXPECT_EQ(journal_.records().size(), 40U);

  snapshots_.Finish();
  time_->AdvanceBy(absl::Seconds(1));

  EXPECT_EQ(journal_.records().size(), 30U);
}

TEST_F(SchedulerLoopStoreTest, FailedSnapshotIsTriedAgainAndHurtsNobody) {
  StartWith(/*snapshot_every=*/10);
  snapshots_.FailWrites(absl::ResourceExhaustedError("disk full"));
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(Submit().ok());
  EXPECT_EQ(snapshots_.writes(), 1);

  snapshots_.FailWrites(absl::OkStatus());
  time_->AdvanceBy(absl::Seconds(11));
  ASSERT_TRUE(Submit().ok());

  EXPECT_EQ(snapshots_.writes(), 2);
  Restart();
  EXPECT_EQ(Submit()->job, JobId(22));
}

TEST_F(SchedulerLoopStoreTest, DamagedSnapshotIsReplacedByTheOneBeforeAndItsRecords) {
  StartWith(/*snapshot_every=*/10);
  for (int i = 0; i < 25; ++i) ASSERT_TRUE(Submit(absl::StrCat("k", i)).ok());
  const int64_t newest = snapshots_.List()->front();
  snapshots_.bytes(newest)[100] ^= 1;

  Restart();

  EXPECT_EQ(Submit("k24")->job, JobId(25));
}

TEST_F(SchedulerLoopStoreTest, EndedJobsLeaveTheHistoryAndTheirIdsAreNotGivenAgain) {
  cluster_limits_.history_jobs_max = 2;
  StartWith(/*snapshot_every=*/1'000);
  for (int64_t id = 1; id <= 5; ++id) {
    ASSERT_EQ(Submit(absl::StrCat("k", id))->job, JobId(id));
    ASSERT_TRUE(Cancel(id).ok());
  }
  Restart();

  EXPECT_EQ(board_.Latest()->jobs.size(), 2);
  const absl::Status gone = FindJob(*board_.Latest(), JobId(3)).status();
  EXPECT_THAT(std::string(gone.message()), StartsWith("job 3 is not in the history any more"));
  EXPECT_EQ(Submit("k1")->job, JobId(6)) << "its key left with it";
}

TEST_F(SchedulerLoopStoreTest, OldJobsLeaveTheHistory) {
  cluster_limits_.history_keep = absl::Hours(1);
  StartWith(/*snapshot_every=*/1'000);
  ASSERT_TRUE(Submit().ok());
  ASSERT_TRUE(Submit().ok());
  ASSERT_TRUE(Cancel(1).ok());

  time_->AdvanceBy(absl::Minutes(59));
  EXPECT_EQ(board_.Latest()->jobs.size(), 2);
  time_->AdvanceBy(absl::Minutes(2));
  EXPECT_EQ(board_.Latest()->jobs.size(), 1);
  EXPECT_EQ(Get(2).phase, JobPhase::kPending);
}

TEST_F(SchedulerLoopStoreTest, WallClockThatIsSetForwardDropsNoHistory) {
  cluster_limits_.history_keep = absl::Hours(1);
  StartWith(/*snapshot_every=*/1'000);
  ASSERT_TRUE(Submit().ok());
  ASSERT_TRUE(Cancel(1).ok());
  time_->JumpWall(absl::Hours(24));
  time_->AdvanceBy(absl::Minutes(59));
  EXPECT_EQ(board_.Latest()->jobs.size(), 1);
  time_->AdvanceBy(absl::Minutes(2));
  EXPECT_EQ(board_.Latest()->jobs.size(), 0);
}

TEST_F(SchedulerLoopStoreTest, WallClockThatIsSetBackDropsNoHistory) {
  cluster_limits_.history_keep = absl::Hours(1);
  StartWith(/*snapshot_every=*/1'000);
  time_->JumpWall(absl::Hours(-24));
  ASSERT_TRUE(Submit().ok());
  ASSERT_TRUE(Cancel(1).ok());
  time_->AdvanceBy(absl::Minutes(59));
  EXPECT_EQ(board_.Latest()->jobs.size(), 1);
  time_->AdvanceBy(absl::Minutes(2));
  EXPECT_EQ(board_.Latest()->jobs.size(), 0);
}

TEST_F(SchedulerLoopStoreTest, ManyJobsAreOneWrite) {
  const int before = journal_.appends();
  const auto submitted = SubmitMany(
      {{"a", SpecThatNeeds(kMiB)}, {"b", SpecThatNeeds(kMiB)}, {"a", SpecThatNeeds(kMiB)}});
  ASSERT_TRUE(submitted.ok()) << submitted.status();
  EXPECT_EQ(journal_.appends(), before + 1);
  ASSERT_EQ(submitted->size(), 3U);
  EXPECT_EQ((*submitted)[1].job, JobId(2));
  EXPECT_EQ((*submitted)[2].job, JobId(1));
  EXPECT_TRUE((*submitted)[2].already_existed);
}

TEST_F(SchedulerLoopStoreTest, OneRefusedJobRefusesAll) {
  DialIn(1);
  const auto refused = SubmitMany({{"a", SpecThatNeeds(kMiB)}, {"b", SpecThatNeeds(9'999 * kMiB)}});
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.status().message()), StartsWith("job 2 of 2: memory "));

  const auto reused = SubmitMany({{"a", SpecThatNeeds(kMiB)}, {"a", SpecThatNeeds(2 * kMiB)}});
  EXPECT_EQ(reused.status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(board_.Latest()->jobs.size(), 0);
}

TEST_F(SchedulerLoopStoreTest, BackupHoldsWhatWasAnswered) {
  ASSERT_TRUE(Submit("k").ok());
  std::string bytes;
  ASSERT_TRUE(loop_
                  ->Post(BackupRequest{[&](FrameWriter snapshot) {
                    while (const auto block = snapshot.Next()) bytes += *block;
                  }})
                  .ok());
  time_->RunReady();

  ClusterState state{ClusterLimits{}};
  SnapshotDecoder decoder(time_->Now(), &state);
  FrameReader reader;
  ASSERT_TRUE(reader.Take(bytes, [&](auto piece) { return decoder.Take(piece); }).ok());
  ASSERT_TRUE(decoder.Finish().ok());
  EXPECT_EQ((*state.FindJob(JobId(1)))->key, "k");
}

}  // namespace
}  // namespace pipefill::scheduler
