#include "cli/job_cancel.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "cli/testing/command_fixture.h"

namespace pipefill {
namespace {

class JobCancelTest : public CommandFixture {};

TEST_F(JobCancelTest, SaysThatAPendingJobIsCancelled) {
  AddJob(17, "embed", v1::JOB_STATE_CANCELLED);

  const Result result = Run({"cancel", "17"});

  EXPECT_EQ(result.code, kExitOk);
  EXPECT_EQ(result.out, "job 17 cancelled\n");
  EXPECT_EQ(scheduler.cancelled, std::vector<int64_t>{17});
}

TEST_F(JobCancelTest, SaysWhereARunningJobIsBeingStopped) {
  AddAttempt(AddJob(17, "embed", v1::JOB_STATE_RUNNING));

  EXPECT_EQ(Run({"job", "cancel", "17"}).out,
            "job 17 is being cancelled: attempt 1 on node1/cpu0 is being stopped\n");
}

TEST_F(JobCancelTest, TriesAllOfSeveralAndReturnsTheLastError) {
  AddJob(17, "embed", v1::JOB_STATE_CANCELLED);
  AddJob(19, "embed", v1::JOB_STATE_CANCELLED);

  const Result result = Run({"cancel", "17", "18", "19", "20"});

  EXPECT_EQ(result.code, kExitNotFound);
  EXPECT_EQ(result.out,
            "job 17 cancelled\n"
            "job 19 cancelled\n");
  EXPECT_EQ(result.err,
            "pipefill: no such job: job=18; 'pipefill jobs' lists the known ones\n"
            "pipefill: no such job: job=20; 'pipefill jobs' lists the known ones\n");
}

TEST_F(JobCancelTest, CancelsNothingIfOneIsNoNumber) {
  AddJob(17, "embed", v1::JOB_STATE_RUNNING);

  EXPECT_EQ(Run({"cancel", "17", "embed"}).code, kExitUsage);
  EXPECT_TRUE(scheduler.cancelled.empty());
}

TEST_F(JobCancelTest, JsonListsTheJobs) {
  AddJob(17, "embed", v1::JOB_STATE_CANCELLED);

  const auto json = nlohmann::json::parse(Run({"cancel", "17", "-o", "json"}).out);

  EXPECT_EQ(json["jobs"][0]["state"], "cancelled");
}

TEST_F(JobCancelTest, EndedOtherwiseIsAConflict) {
  scheduler.error = absl::FailedPreconditionError("job has ended: job=17 state=succeeded");

  const Result result = Run({"cancel", "17"});

  EXPECT_EQ(result.code, kExitConflict);
  EXPECT_EQ(result.err, "pipefill: job has ended: job=17 state=succeeded\n");
}

TEST_F(JobCancelTest, TaskOfAnArrayIsNamedByItsIndex) {
  AddArray(4);
  v1::Job& task = AddJob(7, "sweep", v1::JOB_STATE_CANCELLED);
  task.set_array_id(4);
  task.set_array_index(6);
  const Result result = Run({"cancel", "4_6"});
  EXPECT_EQ(result.out, "job 4_6 cancelled\n");
  EXPECT_EQ(scheduler.cancelled, std::vector<int64_t>{7});
  EXPECT_EQ(Run({"cancel", "4_1"}).err, "pipefill: array 4 has no index 1, only 0,5-6%2\n");
  EXPECT_EQ(Run({"cancel", "7_1"}).err, "pipefill: job 7 is no array and has no task 1\n");
  EXPECT_EQ(Run({"cancel", "4_x"}).code, kExitUsage);
}

TEST_F(JobCancelTest, CancelOfAnArraySaysHowManyTasksAreBeingStopped) {
  AddArray(4);
  EXPECT_EQ(Run({"cancel", "4"}).out, "job 4 is being cancelled: 1 task being stopped\n");
}

}  // namespace
}  // namespace pipefill
