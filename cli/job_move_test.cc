#include "cli/job_move.h"

#include <gtest/gtest.h>

#include "cli/testing/command_fixture.h"

namespace pipefill {
namespace {

class JobMoveTest : public CommandFixture {};

TEST_F(JobMoveTest, SaysFromWhereTheJobIsMoved) {
  AddAttempt(AddJob(17, "embed", v1::JOB_STATE_RUNNING));

  const Result result = Run({"job", "move", "17", "--to", "node2/cpu1"});

  EXPECT_EQ(result.code, kExitOk) << result.err;
  EXPECT_EQ(result.out, "job 17 is being moved: attempt 1 on node1/cpu0 is being stopped\n");
  ASSERT_EQ(scheduler.moved.size(), 1U);
  EXPECT_EQ(scheduler.moved[0].node(), "node2");
  EXPECT_EQ(scheduler.moved[0].device(), "cpu1");
}

TEST_F(JobMoveTest, LeavesTheChoiceToSchedulerd) {
  AddAttempt(AddJob(17, "embed", v1::JOB_STATE_RUNNING));

  EXPECT_EQ(Run({"job", "move", "17"}).code, kExitOk);
  EXPECT_EQ(scheduler.moved[0].node(), "");
}

TEST_F(JobMoveTest, RefusesWhatIsNoDevice) {
  for (const char* to : {"cpu1", "/cpu1", "node2/"}) {
    const Result result = Run({"job", "move", "17", "--to", to});
    EXPECT_EQ(result.code, kExitUsage);
    EXPECT_EQ(result.err, std::string("pipefill: not a device: --to ") + to +
                              "; use NODE/DEVICE, as in 'pipefill devices'\n");
  }
  EXPECT_TRUE(scheduler.moved.empty());
}

TEST_F(JobMoveTest, AJobThatDoesNotRunIsAConflict) {
  scheduler.error = absl::FailedPreconditionError("job 17 is pending");

  EXPECT_EQ(Run({"job", "move", "17"}).code, kExitConflict);
}

}  // namespace
}  // namespace pipefill
