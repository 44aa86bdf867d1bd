// What only a fault in schedulerd itself could break, handed to the checker directly.
#include "simulator/faults/checker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "scheduler/journal/record.h"
#include "scheduler/journal/snapshot.h"
#include "scheduler/journal/snapshot_frame.h"
#include "scheduler/testing/builders.h"

namespace pipefill::simulator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kDeviceBytes = 1000;

class CheckerTest : public ::testing::Test {
 protected:
  void Write(const scheduler::Event& event) {
    checker_.OnRecords({scheduler::EncodeRecord(event, world_.WallNow())});
  }
  void Submit(int64_t job) {
    Write(scheduler::JobSubmitted{JobId(job), "", scheduler::SpecThatNeeds(1)});
  }
  static scheduler::AttemptKey KeyOf(int64_t job, int32_t attempt) {
    return {JobId(job), AttemptNumber(attempt), Fence(static_cast<uint64_t>(attempt))};
  }
  void Place(int64_t job, int32_t attempt) {
    Write(scheduler::AttemptPlaced{KeyOf(job, attempt), {"node0", "gpu0"}});
  }
  static AttemptSpec TaskOf(int64_t job, int64_t memory_bytes) {
    return {.key = {JobId(job), AttemptNumber(1), Fence(static_cast<uint64_t>(job))},
            .job_name = "job",
            .device = "gpu0",
            .command = {},
            .env = {},
            .workdir = "",
            .memory_bytes = memory_bytes};
  }
  const std::vector<std::string>& found() const { return checker_.violations(); }

  VirtualTime world_;
  Checker checker_{world_, {.cluster = {}, .device_bytes = kDeviceBytes, .seats = 2}, nullptr};
};

TEST_F(CheckerTest, NothingIsWrongWithAJobThatRunsAndSucceeds) {
  Submit(1);
  checker_.OnAcknowledged("key", JobId(1));
  Place(1, 1);
  Write(scheduler::AttemptStarted{KeyOf(1, 1)});
  Write(scheduler::ExitOf(KeyOf(1, 1), 0));
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(CheckerTest, IdThatIsGivenTwice) {
  Submit(1);
  Submit(1);
  EXPECT_THAT(found(),
              ElementsAre("job id 1 is given a second time", HasSubstr("does not follow")));
}

TEST_F(CheckerTest, FenceThatIsGivenTwice) {
  Submit(1);
  Submit(2);
  Place(1, 1);
  Place(2, 1);
  ASSERT_FALSE(found().empty());
  EXPECT_EQ(found()[0], "fence 1 is given a second time");
}

TEST_F(CheckerTest, SecondResultOfAJob) {
  Submit(1);
  Place(1, 1);
  Write(scheduler::ExitOf(KeyOf(1, 1), 0));
  Write(scheduler::ExitOf(KeyOf(1, 1), 0));
  ASSERT_FALSE(found().empty());
  EXPECT_THAT(found()[0], HasSubstr("job 1 is completed a second time"));
}

TEST_F(CheckerTest, RecordThatCannotBeRead) {
  checker_.OnRecords({"\xff"});
  EXPECT_THAT(found(), ElementsAre(HasSubstr("a record cannot be read")));
}

TEST_F(CheckerTest, ViewThatIsAheadOfTheDisk) {
  scheduler::ClusterView view;
  view.counts.pending = 1;
  checker_.OnPublished(view);
  EXPECT_THAT(found(), ElementsAre(HasSubstr("a view counts 1 pending")));
}

TEST_F(CheckerTest, BackupThatLacksAJob) {
  scheduler::ClusterState empty{scheduler::ClusterLimits()};
  scheduler::FrameWriter writer(scheduler::SnapshotEncoder(empty.Durable(), {}));
  std::string bytes;
  for (auto block = writer.Next(); block.has_value(); block = writer.Next()) bytes += *block;
  checker_.OnBackup(bytes);
  EXPECT_THAT(found(), IsEmpty());
  Submit(1);
  checker_.OnBackup(bytes);
  EXPECT_THAT(found(), ElementsAre(HasSubstr("a backup holds another state")));
  checker_.OnBackup("nonsense");
  EXPECT_THAT(found().back(), HasSubstr("a backup cannot be read"));
}

TEST_F(CheckerTest, AnswersAheadOfTheDisk) {
  checker_.OnAcknowledged("key", JobId(1));
  EXPECT_THAT(found(), ElementsAre("job 1 was acknowledged before it was on disk"));
  Submit(1);
  checker_.OnCancelGranted(JobId(1));
  EXPECT_THAT(found().back(), HasSubstr("was granted, but is not on disk"));
}

TEST_F(CheckerTest, KeyThatStandsForTwoJobs) {
  Submit(1);
  Submit(2);
  checker_.OnAcknowledged("key", JobId(1));
  checker_.OnAcknowledged("key", JobId(2));
  EXPECT_THAT(found(), ElementsAre("key key stands for jobs 1 and 2"));
}

TEST_F(CheckerTest, TasksThatHaveMoreThanTheirDevice) {
  checker_.OnProcess(0, TaskOf(1, kDeviceBytes));
  EXPECT_THAT(found(), IsEmpty());
  checker_.OnProcess(0, TaskOf(2, 1));
  EXPECT_THAT(found(), ElementsAre(HasSubstr("may have 1001 bytes; the device has 1000")));
  checker_.OnProcessGone(0, TaskOf(1, 0).key);
  checker_.OnProcess(0, TaskOf(3, 1));
  checker_.OnProcess(1, TaskOf(4, 1));
  EXPECT_EQ(found().size(), 1U);
  checker_.OnProcess(0, TaskOf(5, 1));
  EXPECT_THAT(found().back(), HasSubstr("3 tasks on node 0 gpu0, which has 2 seats"));
}

TEST_F(CheckerTest, AttemptThatWorksAfterItsEnd) {
  Submit(1);
  Place(1, 1);
  const AttemptKey key = {JobId(1), AttemptNumber(1), Fence(1)};
  checker_.OnWorking(0, key, true);
  EXPECT_THAT(found(), IsEmpty());
  Write(scheduler::EndOf(KeyOf(1, 1), scheduler::EndCause::kLost));
  EXPECT_THAT(found(), ElementsAre(HasSubstr("ends by the records while it works")));
  checker_.OnWorking(0, key, false);
  checker_.OnWorking(0, key, true);
  EXPECT_THAT(found().back(), HasSubstr("an attempt works that has ended"));
}

TEST_F(CheckerTest, TwoAttemptsThatWork) {
  Submit(1);
  Place(1, 1);
  const AttemptKey first = {JobId(1), AttemptNumber(1), Fence(1)};
  const AttemptKey second = {JobId(1), AttemptNumber(2), Fence(2)};
  checker_.OnWorking(0, first, true);
  checker_.OnWorking(0, first, false);
  EXPECT_THAT(found(), IsEmpty());
  checker_.OnWorking(0, first, true);
  checker_.OnWorking(1, second, true);
  EXPECT_THAT(found(), ElementsAre(HasSubstr("an attempt works that has ended"),
                                   "two attempts of job 1 work at the same time: 1 on node 0 and "
                                   "2 on node 1"));
}

TEST(MovesTest, CodesOfWhatWasSeenAreAmongThoseOfTheLegalMoves) {
  Moves moves;
  moves.OnJob(scheduler::JobPhase::kPending, scheduler::JobInput::kPlaced);
  moves.OnTask(TaskPhase::kAttached, TaskPhase::kFrozen);
  EXPECT_EQ(moves.Encode(), " j0 t15");
  const std::map<std::string, std::string> legal = Moves::LegalByCode();
  EXPECT_EQ(legal.at("j0"), "job pending x input 0");
  EXPECT_EQ(legal.at("t15"), "task attached -> frozen");
  EXPECT_EQ(legal.size(), Moves::LegalJobMoves().size() + Moves::LegalTaskMoves().size());
  EXPECT_EQ(moves.missing().size(), legal.size() - 2);
}

TEST(MovesTest, MoveThatNoTableHasIsTold) {
  Moves moves;
  moves.OnJob(scheduler::JobPhase::kSucceeded, scheduler::JobInput::kPlaced);
  moves.OnTask(TaskPhase::kEnded, TaskPhase::kAttached);
  EXPECT_THAT(moves.illegal(), ElementsAre("job succeeded x input 0", "task ended -> attached"));
}

}  // namespace
}  // namespace pipefill::simulator
