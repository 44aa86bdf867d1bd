#include "scheduler/core/job_table.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace pipefill::scheduler
