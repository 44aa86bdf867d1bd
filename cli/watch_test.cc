#include "cli/watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "cli/testing/command_fixture.h"

namespace pipefill {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class WatchTest : public CommandFixture {
 protected:
  // What schedulerd tells next, on its last stream.
  v1::WatchJobsResponse& Tell() {
    if (scheduler.watch_streams.empty()) scheduler.watch_streams.emplace_back();
    return scheduler.watch_streams.back().emplace_back();
  }
  void BreakStream() { scheduler.watch_streams.emplace_back(); }
};

TEST_F(WatchTest, PrintsEachChangeOnOneLineUntilTheNamedJobIsOver) {
  v1::Job& job = AddJob(17, "embed", v1::JOB_STATE_PENDING);
  job.set_pending_reason(v1::PENDING_REASON_NO_AGENT);
  *Tell().add_jobs() = job;
  job.set_state(v1::JOB_STATE_RUNNING);
  AddAttempt(job);
  *Tell().add_jobs() = job;
  job.set_state(v1::JOB_STATE_SUCCEEDED);
  *Tell().add_jobs() = job;

  const Result result = Run({"watch", "17"});

  EXPECT_EQ(result.code, kExitOk);
  EXPECT_THAT(result.out, HasSubstr("    17  embed                 pending  no agent connected\n"));
  EXPECT_THAT(result.out,
              HasSubstr("    17  embed                 running  attempt 1 on node1/cpu0\n"));
  EXPECT_THAT(result.out, HasSubstr("    17  embed                 succeeded\n"));
  EXPECT_EQ(result.err, "");
  ASSERT_EQ(scheduler.watched.size(), 1U);
  EXPECT_THAT(scheduler.watched[0].job_ids(), ElementsAre(17));
  EXPECT_FALSE(scheduler.watched[0].active_only());
}

TEST_F(WatchTest, GoesOnAfterARestartWithAMarkAndTheNewsAlone) {
  v1::Job& job = AddJob(17, "embed", v1::JOB_STATE_RUNNING);
  v1::Job& other = AddJob(18, "other", v1::JOB_STATE_RUNNING);
  v1::WatchJobsResponse& state = Tell();
  *state.add_jobs() = job;
  *state.add_jobs() = other;
  state.set_cursor("a.b.5");
  BreakStream();
  v1::WatchJobsResponse& anew = Tell();
  anew.mutable_reset()->set_cause(v1::WATCH_RESET_CAUSE_OTHER_BOOT);
  job.set_state(v1::JOB_STATE_CANCELLED);
  other.set_state(v1::JOB_STATE_RUNNING);
  *anew.add_jobs() = job;
  *anew.add_jobs() = other;
  other.set_state(v1::JOB_STATE_CANCELLED);
  *Tell().add_jobs() = other;

  const Result result = Run({"watch", "17", "18"});

  EXPECT_EQ(result.code, kExitOk);
  ASSERT_EQ(scheduler.watched.size(), 2U);
  EXPECT_EQ(scheduler.watched[1].cursor(), "a.b.5");
  EXPECT_THAT(result.err, HasSubstr("trying again"));
  EXPECT_THAT(result.err,
              HasSubstr("--- schedulerd was restarted; what changed meanwhile follows"));
  // Once before, not again after it.
  const size_t running = result.out.find("other                 running");
  ASSERT_NE(running, std::string::npos);
  EXPECT_EQ(result.out.find("other                 running", running + 1), std::string::npos);
}

TEST_F(WatchTest, DroppedChangesAreCounted) {
  v1::WatchJobsResponse& anew = Tell();
  anew.mutable_reset()->set_cause(v1::WATCH_RESET_CAUSE_DROPPED);
  anew.mutable_reset()->set_dropped(512);
  *anew.add_jobs() = AddJob(17, "embed", v1::JOB_STATE_SUCCEEDED);

  EXPECT_THAT(Run({"watch", "17"}).err, HasSubstr("512 changes were dropped"));
}

TEST_F(WatchTest, JobThatIsNotKnownIsToldAndEndsIt) {
  Tell().add_gone(9);

  const Result result = Run({"watch", "9"});

  EXPECT_EQ(result.code, kExitOk);
  EXPECT_THAT(result.err, HasSubstr("job 9 is not known"));
}

TEST_F(WatchTest, WithoutJobsActiveOnesAreWatched) {
  *Tell().add_jobs() = AddJob(17, "embed", v1::JOB_STATE_RUNNING);

  const Result result = Run({"watch", "--tenant", "red", "--timeout", "1s"});

  EXPECT_EQ(result.code, kExitTimedOut);
  ASSERT_FALSE(scheduler.watched.empty());
  EXPECT_TRUE(scheduler.watched[0].active_only());
  EXPECT_EQ(scheduler.watched[0].tenant(), "red");
  Run({"watch", "--all", "--timeout", "1s"});
  EXPECT_FALSE(scheduler.watched.back().active_only());
}

TEST_F(WatchTest, JsonIsOneObjectALine) {
  *Tell().add_jobs() = AddJob(17, "embed", v1::JOB_STATE_SUCCEEDED);

  const std::string out = Run({"watch", "17", "-o", "json"}).out;

  EXPECT_THAT(out, HasSubstr("{\"job\":{\"id\":17,"));
  EXPECT_EQ(out.find('\n'), out.size() - 1);
}

TEST_F(WatchTest, StreamThatStaysAwayIsAnError) {
  scheduler.error = absl::UnavailableError("away");

  EXPECT_EQ(Run({"watch"}).code, kExitUnavailable);
}

}  // namespace
}  // namespace pipefill
