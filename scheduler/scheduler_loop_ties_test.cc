// Arrays and dependencies through the loop: what is launched, who is answered, and what a crash
// leaves of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "scheduler/testing/loop_fixture.h"

namespace pipefill::scheduler {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class LoopTiesTest : public SchedulerLoopTest {
 protected:
  JobId SubmitSpec(JobSpec spec) {
    absl::StatusOr<Submission> result = absl::UnknownError("not answered");
    SubmitRequest request{"", std::move(spec),
                          [&](absl::StatusOr<Submission> answer) { result = answer; }};
    EXPECT_TRUE(loop_->Post(std::move(request)).ok());
    time_->RunReady();
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? result->job : JobId();
  }

  JobId SubmitArray(int32_t tasks, int32_t throttle = 0) {
    JobSpec spec = SpecThatNeeds(kMiB);
    spec.array = ArraySpec{.ranges = {{10, 10 + tasks - 1, 1}}, .throttle = throttle};
    return SubmitSpec(std::move(spec));
  }

  JobId SubmitAfter(JobId job) {
    JobSpec spec = SpecThatNeeds(kMiB);
    spec.dependencies = {{job, DependencyCondition::kOk}};
    return SubmitSpec(std::move(spec));
  }

  void Wait(JobId job) { waited_.insert(job); }
  // Of the jobs that are waited for, those that are over for whoever looks.
  std::set<JobId> Answered() const {
    std::set<JobId> answered;
    for (JobId job : waited_) {
      if (*IsOver(*board_.Latest(), job)) answered.insert(job);
    }
    return answered;
  }

  // The node has so many seats.
  void DialInWith(int seats, std::vector<AttemptKey> live = {}) {
    AgentRegistered hello = HelloFrom("a", ++session_, {FilledDevice("a", "cpu0", seats)});
    hello.live_attempts = std::move(live);
    Say(session_, hello);
  }

  // The attempt that was launched last starts and ends.
  void FinishLast(int32_t exit_code = 0) {
    const AttemptKey key = LastLaunched();
    Say(session_, AttemptStarted{key});
    Say(session_, ExitOf(key, exit_code));
    // A plan that took time is followed by a rest.
    time_->AdvanceBy(absl::Milliseconds(1));
    time_->RunReady();
  }

  std::vector<int32_t> LaunchedIndexes() const {
    std::vector<int32_t> indexes;
    for (const LaunchAttempt& launch : agents_.All<LaunchAttempt>()) {
      indexes.push_back(launch.array_index);
    }
    return indexes;
  }

  std::set<JobId> waited_;
  uint64_t session_ = 0;
};

TEST_F(LoopTiesTest, TasksRunOneAfterTheOtherAndTheLastOneEndsTheArray) {
  DialInWith(1);
  const JobId array = SubmitArray(3);
  Wait(array);
  EXPECT_THAT(LaunchedIndexes(), ElementsAre(10));
  FinishLast();
  FinishLast(/*exit_code=*/1);
  EXPECT_THAT(Answered(), IsEmpty());
  FinishLast();
  EXPECT_THAT(LaunchedIndexes(), ElementsAre(10, 11, 12));
  EXPECT_THAT(Answered(), ElementsAre(array));
  EXPECT_EQ(Get(array.value()).phase, JobPhase::kFailed);
}

TEST_F(LoopTiesTest, SeatsBeyondTheWindowAreFilledToo) {
  cluster_limits_.array_window = 2;
  Restart();
  DialInWith(8);
  SubmitArray(20);
  time_->AdvanceBy(absl::Milliseconds(10));
  time_->RunReady();
  EXPECT_THAT(agents_.All<LaunchAttempt>(), SizeIs(8));
  EXPECT_EQ(Get(1).tasks->waiting(), 2);
}

TEST_F(LoopTiesTest, ThrottleHoldsThoughSeatsAreFree) {
  DialInWith(8);
  SubmitArray(20, /*throttle=*/3);
  time_->AdvanceBy(absl::Milliseconds(10));
  time_->RunReady();
  EXPECT_THAT(agents_.All<LaunchAttempt>(), SizeIs(3));
  FinishLast();
  EXPECT_THAT(agents_.All<LaunchAttempt>(), SizeIs(4));
}

TEST_F(LoopTiesTest, CrashLosesNoTaskAndRunsNoneTwice) {
  DialInWith(1);
  const JobId array = SubmitArray(4);
  FinishLast();
  const AttemptKey live = LastLaunched();
  Say(session_, AttemptStarted{live});

  Restart();
  DialInWith(1, {live});
  EXPECT_THAT(agents_.All<LaunchAttempt>(), IsEmpty()) << "it runs already";
  Wait(array);
  Say(session_, ExitOf(live, 0));
  FinishLast();
  FinishLast();
  EXPECT_THAT(LaunchedIndexes(), ElementsAre(12, 13));
  EXPECT_EQ(Get(array.value()).phase, JobPhase::kSucceeded);
  EXPECT_THAT(Answered(), ElementsAre(array));
}

TEST_F(LoopTiesTest, CancelOfAnArrayStopsItsTasksAndAnswersWhoWaitForAny) {
  DialInWith(1);
  const JobId array = SubmitArray(600);
  const AttemptKey live = LastLaunched();
  Say(session_, AttemptStarted{live});
  const JobId waiting = TaskIdOf(array, 1);
  const JobId later = TaskIdOf(array, 599);
  for (JobId job : {array, waiting, later}) Wait(job);

  ASSERT_TRUE(Cancel(array.value()).ok());
  ASSERT_TRUE(Cancel(array.value()).ok()) << "again";
  ASSERT_THAT(agents_.All<StopAttempt>(), SizeIs(1));
  EXPECT_EQ(agents_.All<StopAttempt>()[0].attempt, live);
  EXPECT_THAT(Answered(), ElementsAre(waiting, later));
  Say(session_, EndOf(live, EndCause::kCancelled));
  EXPECT_EQ(Get(array.value()).phase, JobPhase::kCancelled);
  EXPECT_THAT(Answered(), ElementsAre(array, waiting, later));
}

TEST_F(LoopTiesTest, TaskThatIsNoJobYetIsCancelledOnce) {
  DialInWith(1);
  const JobId array = SubmitArray(600);
  const JobId later = TaskIdOf(array, 599);
  EXPECT_TRUE(Cancel(later.value()).ok());
  EXPECT_TRUE(Cancel(later.value()).ok()) << "again";
  EXPECT_EQ(Get(array.value()).tasks->cancelled(), 1);
  Wait(later);
  EXPECT_THAT(Answered(), ElementsAre(later)) << "it is over";
}

TEST_F(LoopTiesTest, DependentStartsWhenItsTimeHasCome) {
  DialInWith(2);
  const JobId first = SubmitSpec(SpecThatNeeds(kMiB));
  const JobId second = SubmitAfter(first);
  EXPECT_THAT(agents_.All<LaunchAttempt>(), SizeIs(1));
  FinishLast();
  ASSERT_THAT(agents_.All<LaunchAttempt>(), SizeIs(2));
  EXPECT_EQ(LastLaunched().job, second);
}

TEST_F(LoopTiesTest, WhoWaitsForALostDependentIsAnswered) {
  DialInWith(1);
  const JobId first = SubmitSpec(SpecThatNeeds(kMiB));
  const JobId second = SubmitAfter(first);
  const JobId third = SubmitAfter(second);
  Wait(third);
  FinishLast(/*exit_code=*/1);
  EXPECT_THAT(Answered(), ElementsAre(third));

  Restart();
  EXPECT_EQ(Get(third.value()).lost_dependency->job, second);
  EXPECT_EQ(Get(second.value()).lost_dependency->phase, JobPhase::kFailed);
}

TEST_F(LoopTiesTest, LateStartOfOneCancelsItsDependentThatIsLateToo) {
  JobSpec spec = SpecThatNeeds(kMiB);
  spec.start_before = time_->WallNow() + absl::Seconds(60);
  const JobId first = SubmitSpec(spec);
  spec.dependencies = {{first, DependencyCondition::kOk}};
  const JobId second = SubmitSpec(spec);
  time_->AdvanceBy(absl::Seconds(60));
  EXPECT_EQ(Get(first.value()).phase, JobPhase::kFailed);
  EXPECT_EQ(Get(second.value()).phase, JobPhase::kCancelled);
}

TEST_F(LoopTiesTest, TasksThatAreReleasedTooLateFailAndAreNotPlaced) {
  JobSpec spec = SpecThatNeeds(kMiB);
  spec.array = ArraySpec{.ranges = {{0, 2, 1}}};
  spec.start_before = time_->WallNow() + absl::Seconds(60);
  spec.is_held = true;
  const JobId array = SubmitSpec(spec);
  time_->AdvanceBy(absl::Seconds(61));
  EXPECT_EQ(Get(array.value()).phase, JobPhase::kPending) << "it has no task yet";
  DialInWith(4);
  std::vector<JobOutcome> outcomes;
  ASSERT_TRUE(loop_
                  ->Post(ControlRequest{
                      .verb = JobVerb::kRelease,
                      .jobs = {array},
                      .reason = "",
                      .answer = [&](const std::vector<JobOutcome>& answer) { outcomes = answer; }})
                  .ok());
  time_->AdvanceBy(absl::Milliseconds(10));
  EXPECT_THAT(outcomes, SizeIs(1));
  EXPECT_THAT(agents_.All<LaunchAttempt>(), IsEmpty());
  EXPECT_EQ(Get(array.value()).phase, JobPhase::kFailed);
}

TEST_F(LoopTiesTest, GapOfCancelledTasksNeedsNoRoomInTheStore) {
  cluster_limits_.jobs_max = 3;
  Restart();
  JobSpec spec = SpecThatNeeds(kMiB);
  spec.array = ArraySpec{.ranges = {{0, 2, 1}}};
  spec.is_held = true;
  const JobId array = SubmitSpec(spec);
  ASSERT_TRUE(Cancel(TaskIdOf(array, 1).value()).ok());
  ASSERT_TRUE(loop_
                  ->Post(ControlRequest{.verb = JobVerb::kRelease,
                                        .jobs = {array},
                                        .reason = "",
                                        .answer = [](const std::vector<JobOutcome>&) {}})
                  .ok());
  DialInWith(4);
  time_->AdvanceBy(absl::Milliseconds(10));
  EXPECT_THAT(LaunchedIndexes(), ElementsAre(0, 2));
}

TEST_F(LoopTiesTest, OneOfManyThatDependsOnNothingKnownRefusesAll) {
  JobSpec spec = SpecThatNeeds(kMiB);
  spec.dependencies = {{JobId(2), DependencyCondition::kOk}};
  absl::Status result;
  SubmitManyRequest request{
      {{"", SpecThatNeeds(kMiB)}, {"", SpecThatNeeds(kMiB)}, {"", spec}},
      [&](const absl::StatusOr<std::vector<Submission>>& answer) { result = answer.status(); }};
  ASSERT_TRUE(loop_->Post(std::move(request)).ok());
  time_->RunReady();
  EXPECT_EQ(result.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(board_.Latest()->jobs.size(), 0);
}

}  // namespace
}  // namespace pipefill::scheduler
