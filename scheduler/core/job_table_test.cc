#include "scheduler/core/job_table.h"

#include <gtest/gtest.h>

#include <vector>

namespace pipefill::scheduler {
namespace {

Job JobWithId(int64_t id) {
  Job job;
  job.id = JobId(id);
  return job;
}

TEST(JobTableTest, FindsWhatWasAddedAndNothingElse) {
  JobTable table;
  table.Add(JobWithId(1));
  ASSERT_NE(table.Find(JobId(1)), nullptr);
  EXPECT_EQ(table.Find(JobId(0)), nullptr);
  EXPECT_EQ(table.Find(JobId(2)), nullptr);
  EXPECT_EQ(table.Find(JobId(-1)), nullptr);
}

TEST(JobTableTest, SnapshotKeepsJobsAsTheyWere) {
  JobTable table;
  table.Add(JobWithId(1));
  const JobTableView before = table.Snapshot();

  table.Edit(JobId(1)).phase = JobPhase::kCancelled;
  table.Add(JobWithId(2));

  EXPECT_EQ(before.size(), 1);
  EXPECT_EQ(before.Find(JobId(1))->phase, JobPhase::kPending);
  EXPECT_EQ(before.Find(JobId(2)), nullptr);
  EXPECT_EQ(table.Find(JobId(1))->phase, JobPhase::kCancelled);
}

TEST(JobTableTest, EachSnapshotHasItsOwnState) {
  JobTable table;
  table.Add(JobWithId(1));
  const JobTableView first = table.Snapshot();
  table.Edit(JobId(1)).failures = 1;
  const JobTableView second = table.Snapshot();
  table.Edit(JobId(1)).failures = 2;

  EXPECT_EQ(first.Find(JobId(1))->failures, 0);
  EXPECT_EQ(second.Find(JobId(1))->failures, 1);
  EXPECT_EQ(table.Find(JobId(1))->failures, 2);
}

TEST(JobTableTest, ChangesAreFoundAcrossTheWholeTree) {
  JobTable table;
  for (int64_t id : {1, 64, 65, 4096, 4097, 9000}) {
    table.SkipTo(JobId(id - 1));
    table.Add(JobWithId(id));
  }
  const JobTableView before = table.Snapshot();
  EXPECT_TRUE(table.Snapshot().ChangedSince(before).empty());

  table.Edit(JobId(64)).failures = 1;
  table.Edit(JobId(4097)).failures = 1;
  table.Drop(JobId(9000));
  table.SkipTo(JobId(99'999));
  table.Add(JobWithId(100'000));

  const JobTableView after = table.Snapshot();
  const std::vector<JobId> changed = {JobId(64), JobId(4097), JobId(9000), JobId(100'000)};
  EXPECT_EQ(after.ChangedSince(before), changed);
  EXPECT_EQ(before.ChangedSince(after), changed);
  EXPECT_EQ(before.ChangedSince(JobTableView()).size(), 6U);
}

TEST(JobTableTest, UnchangedJobsAreShared) {
  JobTable table;
  table.Add(JobWithId(1));
  table.Add(JobWithId(2));
  const JobTableView before = table.Snapshot();

  table.Edit(JobId(1)).failures = 1;

  EXPECT_EQ(before.Find(JobId(2)), table.Find(JobId(2)));
  EXPECT_NE(before.Find(JobId(1)), table.Find(JobId(1)));
}

TEST(JobTableTest, HoldsMoreJobsThanOneChunk) {
  JobTable table;
  for (int64_t id = 1; id <= 1000; ++id) table.Add(JobWithId(id));
  const JobTableView before = table.Snapshot();
  for (int64_t id = 1; id <= 1000; ++id) table.Edit(JobId(id)).failures = static_cast<int>(id);

  for (int64_t id = 1; id <= 1000; ++id) {
    EXPECT_EQ(before.Find(JobId(id))->failures, 0);
    EXPECT_EQ(table.Find(JobId(id))->failures, id);
  }
}

TEST(JobTableTest, DroppedJobLeavesAHoleAndItsIdIsNotGivenAgain) {
  JobTable table;
  for (int64_t id = 1; id <= 3; ++id) table.Add(JobWithId(id));
  const JobTableView before = table.Snapshot();

  table.Drop(JobId(2));
  table.Drop(JobId(3));

  EXPECT_EQ(table.size(), 1);
  EXPECT_EQ(table.last_id(), JobId(3));
  EXPECT_EQ(table.Find(JobId(2)), nullptr);
  EXPECT_NE(before.Find(JobId(2)), nullptr);
  table.Add(JobWithId(4));
  EXPECT_EQ(table.Snapshot().FindAtOrBelow(JobId(3))->id, JobId(1));
}

// Holes of all sizes: places, nodes, and nodes of nodes.
TEST(JobTableTest, WalksBothWaysOverHoles) {
  JobTable table;
  const std::vector<int64_t> kept = {1, 64, 65, 4'096, 4'097, 50'000, 300'000};
  for (int64_t id : kept) {
    if (id > 1) table.SkipTo(JobId(id - 1));
    table.Add(JobWithId(id));
  }
  table.SkipTo(JobId(1'000'000));
  const JobTableView view = table.Snapshot();

  std::vector<int64_t> up;
  for (const Job* job = view.FindAtOrAbove(JobId(0)); job != nullptr;
       job = view.FindAtOrAbove(JobId(job->id.value() + 1))) {
    up.push_back(job->id.value());
  }
  std::vector<int64_t> down;
  for (const Job* job = view.FindAtOrBelow(view.last_id()); job != nullptr;
       job = view.FindAtOrBelow(JobId(job->id.value() - 1))) {
    down.insert(down.begin(), job->id.value());
  }

  EXPECT_EQ(up, kept);
  EXPECT_EQ(down, kept);
}

TEST(JobTableTest, EmptiedTableTakesFurtherJobs) {
  JobTable table;
  for (int64_t id = 1; id <= 5'000; ++id) table.Add(JobWithId(id));
  for (int64_t id = 1; id <= 5'000; ++id) table.Drop(JobId(id));
  EXPECT_EQ(table.size(), 0);
  EXPECT_EQ(table.Snapshot().FindAtOrBelow(JobId(5'000)), nullptr);
  table.Add(JobWithId(5'001));
  EXPECT_EQ(table.Find(JobId(5'001))->id, JobId(5'001));
}

}  // namespace
}  // namespace pipefill::scheduler
