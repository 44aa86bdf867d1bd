// The loop and what users want of jobs: many at once, in one transaction; and jobs that start too
// late.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "scheduler/testing/loop_fixture.h"

namespace pipefill::scheduler {
namespace {

using testing::HasSubstr;

class LoopControlTest : public SchedulerLoopTest {
 protected:
  std::vector<JobOutcome> Control(JobVerb verb, std::vector<int64_t> ids,
                                  const std::string& reason = "") {
    std::vector<JobId> jobs(ids.begin(), ids.end());
    std::vector<JobOutcome> result;
    ControlRequest request{verb, std::move(jobs), reason,
                           [&](std::vector<JobOutcome> answer) { result = std::move(answer); }};
    EXPECT_TRUE(loop_->Post(std::move(request)).ok());
    time_->RunReady();
    return result;
  }

  absl::StatusOr<Submission> SubmitToStartWithin(absl::Duration wait) {
    absl::StatusOr<Submission> result = absl::UnknownError("not answered");
    JobSpec spec = SpecThatNeeds(100 * kMiB);
    spec.start_before = time_->WallNow() + wait;
    SubmitRequest request{"", spec, [&](absl::StatusOr<Submission> answer) { result = answer; }};
    EXPECT_TRUE(loop_->Post(std::move(request)).ok());
    time_->RunReady();
    return result;
  }
};

std::vector<JobOutcome::Code> CodesOf(const std::vector<JobOutcome>& outcomes) {
  std::vector<JobOutcome::Code> codes;
  for (const JobOutcome& outcome : outcomes) codes.push_back(outcome.code);
  return codes;
}

TEST_F(LoopControlTest, OneRefusedJobDoesNotStopTheOthers) {
  ASSERT_TRUE(Submit().ok());
  ASSERT_TRUE(Submit().ok());
  const std::vector<JobOutcome> outcomes = Control(JobVerb::kHold, {1, 7, 2, 1});
  EXPECT_EQ(CodesOf(outcomes),
            (std::vector<JobOutcome::Code>{JobOutcome::Code::kDone, JobOutcome::Code::kRefused,
                                           JobOutcome::Code::kDone, JobOutcome::Code::kUnchanged}));
  EXPECT_EQ(outcomes[1].refusal.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(board_.Latest()->counts.held, 2);
}

TEST_F(LoopControlTest, ManyJobsShareOneAppend) {
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(Submit().ok());
  std::vector<int64_t> ids;
  for (int64_t id = 1; id <= 20; ++id) ids.push_back(id);
  const int before = journal_.appends();
  Control(JobVerb::kCancel, ids);
  EXPECT_EQ(journal_.appends(), before + 1);
  EXPECT_EQ(board_.Latest()->counts.ended, 20);
}

TEST_F(LoopControlTest, HeldJobIsNotLaunchedBeforeItIsReleasedAlsoAfterARestart) {
  ASSERT_TRUE(Submit().ok());
  Control(JobVerb::kHold, {1}, "too early");
  Restart();
  DialIn(1);
  EXPECT_TRUE(agents_.All<LaunchAttempt>().empty());
  EXPECT_EQ(Get(1).wishes.back().text, "too early");

  Control(JobVerb::kRelease, {1});
  EXPECT_EQ(LastLaunched().job, JobId(1));
}

TEST_F(LoopControlTest, RequeueStopsTheAttemptAndTheJobIsLaunchedAgain) {
  DialIn(1);
  ASSERT_TRUE(Submit().ok());
  const AttemptKey first = LastLaunched();
  Say(1, AttemptStarted{first});
  Control(JobVerb::kRequeue, {1}, "new data");
  ASSERT_EQ(agents_.All<StopAttempt>().size(), 1U);
  EXPECT_EQ(agents_.All<StopAttempt>()[0].attempt, first);

  // Wished for twice, it is stopped once.
  EXPECT_EQ(Control(JobVerb::kRequeue, {1})[0].code, JobOutcome::Code::kUnchanged);
  Say(1, EndOf(first, EndCause::kLost));
  EXPECT_EQ(agents_.All<StopAttempt>().size(), 1U);
  EXPECT_EQ(LastLaunched().attempt, AttemptNumber(2));
}

TEST_F(LoopControlTest, RequeueOfAHeldJobHasItWait) {
  DialIn(1);
  ASSERT_TRUE(Submit().ok());
  const AttemptKey first = LastLaunched();
  Say(1, AttemptStarted{first});
  Control(JobVerb::kHold, {1});
  Control(JobVerb::kRequeue, {1});
  Say(1, EndOf(first, EndCause::kLost));
  EXPECT_EQ(LastLaunched(), first);
  EXPECT_EQ(Get(1).phase, JobPhase::kPending);
}

// --- Starting too late ---

TEST_F(LoopControlTest, JobThatHasNotStartedInTimeFailsThen) {
  ASSERT_TRUE(SubmitToStartWithin(absl::Seconds(60)).ok());
  time_->AdvanceBy(absl::Milliseconds(59'999));
  EXPECT_EQ(Get(1).phase, JobPhase::kPending);
  time_->AdvanceBy(absl::Milliseconds(1));
  EXPECT_EQ(Get(1).phase, JobPhase::kFailed);
}

TEST_F(LoopControlTest, LateStartIsFoundAfterARestartAndDecidedOnce) {
  ASSERT_TRUE(SubmitToStartWithin(absl::Seconds(60)).ok());
  Restart();
  time_->AdvanceBy(absl::Seconds(60));
  EXPECT_EQ(Get(1).phase, JobPhase::kFailed);
  const size_t records = journal_.records().size();
  Restart();
  EXPECT_EQ(Get(1).phase, JobPhase::kFailed);
  EXPECT_EQ(journal_.records().size(), records);
}

TEST_F(LoopControlTest, LaunchThatIsUnderwayInTimeGoesOn) {
  DialIn(1);
  ASSERT_TRUE(SubmitToStartWithin(absl::Seconds(5)).ok());
  PassReporting(10);
  EXPECT_EQ(Get(1).phase, JobPhase::kStarting);
  Say(1, AttemptStarted{LastLaunched()});
  EXPECT_EQ(Get(1).phase, JobPhase::kRunning);
}

TEST_F(LoopControlTest, StartThatLiesInThePastIsRefused) {
  const auto submitted = SubmitToStartWithin(-absl::Seconds(1));
  EXPECT_EQ(submitted.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(submitted.status().message()), HasSubstr("start_before"));
}

}  // namespace
}  // namespace pipefill::scheduler
