#include "scheduler/scheduler_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/retry_after.h"
#include "scheduler/core/explain.h"
#include "scheduler/testing/loop_fixture.h"

namespace pipefill::scheduler {
namespace {

using testing::HasSubstr;

// --- Settings of main jobs ---

TEST_F(SchedulerLoopTest, PauseIsDurableBeforeAgentsOrTheUserHear) {
  DialIn(1);
  size_t sent_before = agents_.sent_.size();
  bool was_early = true;
  journal_.OnAppend([&] { was_early = agents_.sent_.size() != sent_before; });
  const absl::StatusOr<MainJobSettings> answer = SetPaused("gpt", true);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_TRUE(answer->is_paused);
  EXPECT_FALSE(was_early);
  ASSERT_EQ(agents_.All<SetMainJob>().size(), 1U);
  EXPECT_TRUE(agents_.All<SetMainJob>()[0].settings.is_paused);
  EXPECT_TRUE(board_.Latest()->main_jobs->at("gpt").is_paused);
}

TEST_F(SchedulerLoopTest, PauseSurvivesARestartAndMeetsTheAgentWhenItDialsIn) {
  DialIn(1);
  ASSERT_TRUE(SetPaused("gpt", true).ok());
  Restart();
  DialIn(2);
  ASSERT_EQ(agents_.All<SetMainJob>().size(), 1U);
  EXPECT_TRUE(agents_.All<SetMainJob>()[0].settings.is_paused);
}

TEST_F(SchedulerLoopTest, RepeatedPauseIsWrittenAndSentOnce) {
  DialIn(1);
  ASSERT_TRUE(SetPaused("gpt", true).ok());
  const size_t records = journal_.records().size();
  EXPECT_TRUE(SetPaused("gpt", true)->is_paused);
  EXPECT_EQ(journal_.records().size(), records);
  EXPECT_EQ(agents_.All<SetMainJob>().size(), 1U);
}

TEST_F(SchedulerLoopTest, UnknownMainJobIsRefusedWithTheNamesOfThoseAttached) {
  DialIn(1);
  const absl::Status status = SetPaused("bert", true).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("attached: gpt"));
}

TEST_F(SchedulerLoopTest, NothingIsPlacedWhereTheMainJobIsPaused) {
  DialIn(1);
  ASSERT_TRUE(SetPaused("gpt", true).ok());
  ASSERT_TRUE(Submit().ok());
  EXPECT_TRUE(agents_.All<LaunchAttempt>().empty());
  ASSERT_TRUE(SetPaused("gpt", false).ok());
  EXPECT_EQ(agents_.All<LaunchAttempt>().size(), 1U);
}

// --- Profiles ---

TEST_F(SchedulerLoopTest, LaunchCarriesTheConfigurationThatIsFastestOnTheDevice) {
  DialIn(1);
  Device device = FilledDevice("a", "cpu0");
  device.main_rank->iteration_p50_ns = 100'000'000;
  AgentReported report = ReportFrom(1, {device});
  BubbleStats& bubble = report.bubbles.emplace_back();
  bubble.device = device.key;
  bubble.offer = BubbleOffer::kYes;
  bubble.p10_ns = bubble.p50_ns = bubble.p90_ns = 5'000'000;
  Say(1, std::move(report));
  JobSpec spec = SpecThatNeeds(100 * kMiB);
  spec.profile.configurations = {LearnedConfiguration(1, 9'000'000, 0),
                                 LearnedConfiguration(1, 1'000'000, 0)};
  spec.profile.configurations[0].name = "large";
  spec.profile.configurations[1].name = "small";
  EXPECT_TRUE(loop_->Post(SubmitRequest{"", spec, [](const auto&) {}}).ok());
  time_->RunReady();
  ASSERT_EQ(agents_.All<LaunchAttempt>().size(), 1U);
  EXPECT_EQ(agents_.All<LaunchAttempt>()[0].configuration->name, "small");
  EXPECT_EQ(Get(1).live_attempt().configuration, "small");
  Restart();
  EXPECT_EQ(Get(1).live_attempt().configuration, "small");
}

// --- Durable first ---

TEST_F(SchedulerLoopTest, NothingIsAnsweredOrSentBeforeItIsOnDisk) {
  DialIn(1);
  const size_t sent_before = agents_.sent_.size();
  bool is_answered = false;
  bool was_early = false;
  journal_.OnAppend([&] {
    // The first append is the submission's; the placement's comes after the answer.
    if (journal_.appends() == 0) was_early = is_answered;
    was_early = was_early || agents_.sent_.size() != sent_before;
  });
  ASSERT_TRUE(loop_
                  ->Post(SubmitRequest{"", SpecThatNeeds(kMiB),
                                       [&](const auto&) {
                                         is_answered = true;
                                         EXPECT_EQ(journal_.records().size(), 1U);
                                       }})
                  .ok());
  time_->RunReady();
  EXPECT_TRUE(is_answered);
  EXPECT_FALSE(was_early);
  EXPECT_EQ(journal_.records().size(), 2U);
  EXPECT_EQ(agents_.All<LaunchAttempt>().size(), 1U);
}

TEST_F(SchedulerLoopTest, FailedSyncAnswersNobodyAndEndsEverything) {
  DialIn(1);
  const size_t sent_before = agents_.sent_.size();
  journal_.FailAppends(absl::InternalError("disk on fire"));

  EXPECT_EQ(Submit().status().message(), "not answered");
  EXPECT_EQ(fatal_.message(), "disk on fire");

  journal_.FailAppends(absl::OkStatus());
  EXPECT_EQ(Submit().status().message(), "not answered");
  time_->AdvanceBy(absl::Seconds(60));
  EXPECT_EQ(agents_.sent_.size(), sent_before);
}

TEST_F(SchedulerLoopTest, RequestsThatWaitTogetherShareOneSync) {
  int answered = 0;
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(
        loop_->Post(SubmitRequest{"", SpecThatNeeds(kMiB), [&](const auto&) { ++answered; }}).ok());
  }
  time_->RunReady();
  EXPECT_EQ(answered, 5);
  EXPECT_EQ(journal_.appends(), 1);
  EXPECT_EQ(journal_.records().size(), 5U);
}

TEST_F(SchedulerLoopTest, AnsweredJobIsInTheView) {
  bool is_seen = false;
  ASSERT_TRUE(loop_
                  ->Post(SubmitRequest{"", SpecThatNeeds(kMiB),
                                       [&](absl::StatusOr<Submission> answer) {
                                         is_seen = FindJob(*board_.Latest(), answer->job).ok();
                                       }})
                  .ok());
  time_->RunReady();
  EXPECT_TRUE(is_seen);
}

// --- Submission and cancel ---

TEST_F(SchedulerLoopTest, SameKeyGivesTheSameJobAlsoAfterRestart) {
  EXPECT_EQ(Submit("k")->job, JobId(1));
  EXPECT_TRUE(Submit("k")->already_existed);
  Restart();
  EXPECT_EQ(Submit("k")->job, JobId(1));
  EXPECT_TRUE(Submit("k")->already_existed);
  EXPECT_EQ(Submit("other")->job, JobId(2));
}

TEST_F(SchedulerLoopTest, CancelIsWrittenOnceAndAnsweredAlike) {
  ASSERT_TRUE(Submit().ok());
  EXPECT_TRUE(Cancel(1).ok());
  const size_t records = journal_.records().size();
  EXPECT_TRUE(Cancel(1).ok());
  EXPECT_EQ(journal_.records().size(), records);
  EXPECT_EQ(Get(1).phase, JobPhase::kCancelled);
}

TEST_F(SchedulerLoopTest, CancelOfRunningJobStopsItAndWaitsForItsEnd) {
  DialIn(1);
  ASSERT_TRUE(Submit().ok());
  Say(1, AttemptStarted{LastLaunched()});
  EXPECT_TRUE(Cancel(1).ok());
  ASSERT_EQ(agents_.All<StopAttempt>().size(), 1U);
  EXPECT_EQ(Get(1).phase, JobPhase::kStopping);
  Say(1, EndOf(LastLaunched(), EndCause::kCancelled));
  EXPECT_EQ(Get(1).phase, JobPhase::kCancelled);
}

TEST_F(SchedulerLoopTest, MoveStopsTheAttemptAndPlacesTheNextWhereItWasWanted) {
  AgentRegistered hello = HelloFrom("a", 1, {FilledDevice("a", "cpu0"), FilledDevice("a", "cpu1")});
  Say(1, hello);
  ASSERT_TRUE(Submit().ok());
  Say(1, AttemptStarted{LastLaunched()});
  ASSERT_EQ(Get(1).live_attempt().device.name, "cpu0");

  EXPECT_TRUE(Move(1).ok());
  ASSERT_EQ(agents_.All<StopAttempt>().size(), 1U);
  EXPECT_EQ(agents_.All<StopAttempt>()[0].cause, EndCause::kLost);
  Say(1, EndOf(LastLaunched(), EndCause::kLost));
  time_->AdvanceBy(absl::Seconds(1));
  EXPECT_EQ(Get(1).live_attempt().device.name, "cpu1");
  EXPECT_EQ(agents_.All<LaunchAttempt>().size(), 2U);
}

TEST_F(SchedulerLoopTest, MoveOutlivesARestart) {
  AgentRegistered hello = HelloFrom("a", 1, {FilledDevice("a", "cpu0"), FilledDevice("a", "cpu1")});
  Say(1, hello);
  ASSERT_TRUE(Submit().ok());
  const AttemptKey key = LastLaunched();
  Say(1, AttemptStarted{key});
  EXPECT_TRUE(Move(1).ok());
  Restart();
  hello.live_attempts = {key};
  Say(1, hello);
  EXPECT_EQ(agents_.All<StopAttempt>().back().attempt, key);
  Say(1, EndOf(key, EndCause::kLost));
  time_->AdvanceBy(absl::Seconds(1));
  EXPECT_EQ(Get(1).live_attempt().device.name, "cpu1");
}

TEST_F(SchedulerLoopTest, MoveOfAJobThatDoesNotRunIsRefused) {
  EXPECT_EQ(Move(1).code(), absl::StatusCode::kNotFound);
  ASSERT_TRUE(Submit().ok());
  EXPECT_EQ(Move(1).code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(SchedulerLoopTest, TooManyRequestsAreRefusedWithTheLimit) {
  limits_.requests_max = 2;
  Restart();
  ASSERT_TRUE(loop_->Post(CancelRequest{JobId(1), [](absl::Status) {}}).ok());
  ASSERT_TRUE(loop_->Post(CancelRequest{JobId(1), [](absl::Status) {}}).ok());
  const absl::Status status = loop_->Post(CancelRequest{JobId(1), [](absl::Status) {}});
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("requests_max: 2 requests wait already"));
  EXPECT_EQ(RetryAfterOf(status), absl::Milliseconds(50));
}

TEST_F(SchedulerLoopTest, MessagesBeyondOneBatchComeInTheNext) {
  limits_.batch_max = 2;
  Restart();
  int answered = 0;
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(
        loop_->Post(SubmitRequest{"", SpecThatNeeds(kMiB), [&](const auto&) { ++answered; }}).ok());
  }
  time_->RunReady();
  EXPECT_EQ(answered, 5);
  EXPECT_EQ(journal_.appends(), 3);
}

// --- Placement ---

TEST_F(SchedulerLoopTest, JobWaitsWithReasonUntilSeatIsFree) {
  DialIn(1);
  ASSERT_TRUE(Submit().ok());
  ASSERT_TRUE(Submit().ok());
  EXPECT_EQ(Get(2).phase, JobPhase::kPending);
  EXPECT_EQ(ReasonOf(Get(2), *board_.Latest()->plan, time_->Now())->code,
            PendingCode::kResidentLimit);

  Say(1, ExitOf(LastLaunched(), 0));

  EXPECT_EQ(Get(2).phase, JobPhase::kStarting);
  EXPECT_EQ(LastLaunched().job, JobId(2));
}

TEST_F(SchedulerLoopTest, JobsSubmittedWithoutAgentArePlacedWhenOneDialsIn) {
  ASSERT_TRUE(Submit().ok());
  EXPECT_TRUE(agents_.All<LaunchAttempt>().empty());
  DialIn(1);
  EXPECT_EQ(agents_.All<LaunchAttempt>().size(), 1U);
}

TEST_F(SchedulerLoopTest, FailedJobIsTriedAgainAfterItsBackOff) {
  DialIn(1);
  ASSERT_TRUE(Submit("", /*retries=*/1).ok());
  Say(1, ExitOf(LastLaunched(), 3));
  EXPECT_EQ(agents_.All<LaunchAttempt>().size(), 1U);

  time_->AdvanceBy(absl::Milliseconds(999));
  EXPECT_EQ(agents_.All<LaunchAttempt>().size(), 1U);
  time_->AdvanceBy(absl::Milliseconds(1));
  ASSERT_EQ(agents_.All<LaunchAttempt>().size(), 2U);
  EXPECT_EQ(LastLaunched().attempt, AttemptNumber(2));
}

}  // namespace
}  // namespace pipefill::scheduler
