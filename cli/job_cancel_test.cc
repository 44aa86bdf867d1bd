#include "cli/job_cancel.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

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

}  // namespace
}  // namespace pipefill
