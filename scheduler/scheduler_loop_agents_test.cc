// What the loop makes of agents: stale and repeated news, silence, returns, restarts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "scheduler/testing/loop_fixture.h"

namespace pipefill::scheduler {
namespace {

TEST_F(SchedulerLoopTest, StaleFenceIsAcknowledgedAndRefused) {
  DialIn(1);
  ASSERT_TRUE(Submit().ok());
  const AttemptKey old = LastLaunched();
  Say(1, EndOf(old, EndCause::kLost));
  ASSERT_NE(LastLaunched(), old);
  const size_t records = journal_.records().size();

  Say(1, ExitOf(old, 0));

  EXPECT_EQ(Get(1).phase, JobPhase::kStarting);
  EXPECT_EQ(journal_.records().size(), records);
  EXPECT_EQ(agents_.All<AcknowledgeEnd>().back().attempt, old);
}

TEST_F(SchedulerLoopTest, RepeatedEndIsAcknowledgedAndIgnored) {
  DialIn(1);
  ASSERT_TRUE(Submit().ok());
  Say(1, ExitOf(LastLaunched(), 0));
  const size_t records = journal_.records().size();
  Say(1, ExitOf(LastLaunched(), 0));
  EXPECT_EQ(journal_.records().size(), records);
  EXPECT_EQ(agents_.All<AcknowledgeEnd>().size(), 2U);
  EXPECT_EQ(Get(1).phase, JobPhase::kSucceeded);
}

// Both hellos are in one batch, as after a long sync: what the first one led to is not told on the
// stream of the second, which is told all it needs by its own.
TEST_F(SchedulerLoopTest, WhatWasDecidedForAStreamIsNotToldOnTheNext) {
  DialIn(1);
  ASSERT_TRUE(Submit().ok());
  agents_.sent_.clear();
  const AgentRegistered again = HelloFrom("a", 2, {FilledDevice("a", "cpu0")});
  const AgentRegistered once_more = HelloFrom("a", 3, {FilledDevice("a", "cpu0")});
  ASSERT_TRUE(loop_->Post(AgentSaid{SessionId(2), again, nullptr}).ok());
  ASSERT_TRUE(loop_->Post(StreamEnded{SessionId(2)}).ok());
  ASSERT_TRUE(loop_->Post(AgentSaid{SessionId(3), once_more, nullptr}).ok());
  time_->RunReady();
  EXPECT_EQ(agents_.All<LaunchAttempt>().size(), 1U);
  EXPECT_EQ(agents_.All<WelcomeAgent>().size(), 1U);
  for (const auto& [session, action] : agents_.sent_) EXPECT_EQ(session, SessionId(3));
}

TEST_F(SchedulerLoopTest, SilentAgentIsGivenUpAndItsJobsGoOn) {
  DialIn(1);
  ASSERT_TRUE(Submit().ok());
  Say(1, AttemptStarted{LastLaunched()});
  time_->AdvanceBy(absl::Milliseconds(14'999));
  EXPECT_EQ(Get(1).phase, JobPhase::kRunning);

  time_->AdvanceBy(absl::Milliseconds(1));

  EXPECT_EQ(Get(1).phase, JobPhase::kPending);
  EXPECT_EQ(Get(1).attempts[0].end.cause, EndCause::kLost);
  ASSERT_EQ(agents_.closed_.size(), 1U);
  EXPECT_EQ(agents_.closed_[0].first, SessionId(1));
}

TEST_F(SchedulerLoopTest, ReportsKeepAgentAlive) {
  DialIn(1);
  ASSERT_TRUE(Submit().ok());
  PassReporting(60);
  EXPECT_EQ(Get(1).phase, JobPhase::kStarting);
  EXPECT_TRUE(agents_.closed_.empty());
}

TEST_F(SchedulerLoopTest, AgentsAreKeptAliveEachPeriodButNotAllAtOnce) {
  constexpr uint64_t kAgents = 64;
  for (uint64_t session = 1; session <= kAgents; ++session) {
    const std::string node = absl::StrCat("node-", session);
    Say(session, HelloFrom(node, session, {FilledDevice(node, "cpu0")}));
  }
  std::map<std::string, int> times_by_node;
  size_t at_once = 0;
  const Instant end = time_->Now() + limits_.keep_alive_period;
  while (time_->Now() < end) {
    const size_t before = agents_.All<KeepAgentAlive>().size();
    time_->AdvanceBy(absl::Milliseconds(1));
    const auto all = agents_.All<KeepAgentAlive>();
    at_once = std::max(at_once, all.size() - before);
    for (size_t i = before; i < all.size(); ++i) ++times_by_node[all[i].node];
  }
  EXPECT_EQ(times_by_node.size(), kAgents);
  for (const auto& [node, times] : times_by_node) EXPECT_EQ(times, 1) << node;
  EXPECT_EQ(at_once, kAgents / 16);
}

TEST_F(SchedulerLoopTest, RareReportsAreAnsweredAndNothingElseIsSaid) {
  limits_.report_period = absl::Seconds(5);
  Restart();
  DialIn(1);
  time_->AdvanceBy(absl::Seconds(5));
  EXPECT_THAT(agents_.All<KeepAgentAlive>(), testing::IsEmpty());
  bool was_done_first = false;
  ASSERT_TRUE(loop_
                  ->Post(AgentSaid{SessionId(1), ReportFrom(1, {FilledDevice("a", "cpu0")}),
                                   [&] { was_done_first = agents_.All<KeepAgentAlive>().empty(); }})
                  .ok());
  time_->RunReady();
  EXPECT_THAT(agents_.All<KeepAgentAlive>(), testing::SizeIs(1));
  EXPECT_TRUE(was_done_first) << "else the word confirms the report before";
}

TEST_F(SchedulerLoopTest, OnlyHeardAgentsAreKeptAlive) {
  DialIn(1);
  PassReporting(10);
  const size_t heard = agents_.All<KeepAgentAlive>().size();
  EXPECT_GE(heard, 3U);
  time_->AdvanceBy(absl::Seconds(5));
  const size_t fading = agents_.All<KeepAgentAlive>().size();
  time_->AdvanceBy(absl::Seconds(9));
  EXPECT_EQ(agents_.All<KeepAgentAlive>().size(), fading);
}

TEST_F(SchedulerLoopTest, GivenUpAttemptThatComesBackIsStoppedWhileTheNewOneRuns) {
  DialIn(1);
  ASSERT_TRUE(Submit().ok());
  const AttemptKey old = LastLaunched();
  Say(1, AttemptStarted{old});
  time_->AdvanceBy(absl::Seconds(15));

  DialIn(2, {old});

  const std::vector<StopAttempt> stops = agents_.All<StopAttempt>();
  ASSERT_EQ(stops.size(), 1U);
  EXPECT_EQ(stops[0].attempt, old);
  EXPECT_EQ(stops[0].cause, EndCause::kLost);
}

TEST_F(SchedulerLoopTest, BrokenStreamKeepsAttemptForTheAgentsReturn) {
  DialIn(1);
  ASSERT_TRUE(Submit().ok());
  const AttemptKey key = LastLaunched();
  Say(1, AttemptStarted{key});
  ASSERT_TRUE(loop_->Post(StreamEnded{SessionId(1)}).ok());
  time_->AdvanceBy(absl::Seconds(14));

  DialIn(2, {key});
  PassReporting(30, 2);

  EXPECT_EQ(Get(1).phase, JobPhase::kRunning);
  EXPECT_EQ(Get(1).attempts.size(), 1U);
}

TEST_F(SchedulerLoopTest, SecondAgentOfTheSameNameIsRefused) {
  DialIn(1);
  DialIn(2, {}, "boot-2");
  ASSERT_EQ(agents_.closed_.size(), 1U);
  EXPECT_EQ(agents_.closed_[0].first, SessionId(2));
  EXPECT_EQ(agents_.closed_[0].second.code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(SchedulerLoopTest, NewStreamOfTheSameAgentReplacesTheOld) {
  DialIn(1);
  DialIn(2);
  ASSERT_EQ(agents_.closed_.size(), 1U);
  EXPECT_EQ(agents_.closed_[0].first, SessionId(1));
  Say(1, ReportFrom(1, {}));
  EXPECT_EQ(ListDevices(*board_.Latest()).size(), 1U);
}

TEST_F(SchedulerLoopTest, MessageIsDoneOnlyWhenItIsDurable) {
  DialIn(1);
  ASSERT_TRUE(Submit().ok());
  const size_t records = journal_.records().size();
  bool is_done = false;
  ASSERT_TRUE(loop_
                  ->Post(AgentSaid{SessionId(1), AttemptStarted{LastLaunched()},
                                   [&] {
                                     is_done = true;
                                     EXPECT_EQ(journal_.records().size(), records + 1);
                                   }})
                  .ok());
  time_->RunReady();
  EXPECT_TRUE(is_done);
}

// --- Restart ---

TEST_F(SchedulerLoopTest, AfterRestartRunningAttemptGoesOn) {
  DialIn(1);
  ASSERT_TRUE(Submit().ok());
  const AttemptKey key = LastLaunched();
  Say(1, AttemptStarted{key});
  Restart();

  DialIn(1, {key});
  Say(1, ExitOf(key, 0));

  EXPECT_EQ(Get(1).phase, JobPhase::kSucceeded);
  EXPECT_EQ(Get(1).attempts.size(), 1U);
}

TEST_F(SchedulerLoopTest, AfterRestartLaunchThatWasLostIsRepeatedWithItsFence) {
  DialIn(1);
  ASSERT_TRUE(Submit().ok());
  const AttemptKey key = LastLaunched();
  Restart();
  EXPECT_TRUE(agents_.All<LaunchAttempt>().empty());
  DialIn(1);
  ASSERT_EQ(agents_.All<LaunchAttempt>().size(), 1U);
  EXPECT_EQ(LastLaunched(), key);
}

TEST_F(SchedulerLoopTest, AfterRestartAttemptOfAgentThatStaysAwayIsLost) {
  DialIn(1);
  ASSERT_TRUE(Submit().ok());
  Restart();
  time_->AdvanceBy(absl::Seconds(15));
  EXPECT_EQ(Get(1).phase, JobPhase::kPending);
}

}  // namespace
}  // namespace pipefill::scheduler
