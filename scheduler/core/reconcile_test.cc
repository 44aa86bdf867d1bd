#include "scheduler/core/reconcile.h"

#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

#include "scheduler/testing/builders.h"

namespace pipefill::scheduler {
namespace {

// One job with an attempt on node "a", whose agent has session 1 and boot id "boot-1".
class ReconcileTest : public testing::Test {
 protected:
  ReconcileTest() {
    Apply(HelloFrom("a", 1, {FilledDevice("a", "cpu0")}));
    JobSpec spec = SpecThatNeeds(kMiB);
    spec.profile.configurations = {LearnedConfiguration(1, 1, 0)};
    spec.profile.configurations[0].name = "batch8";
    Apply(JobSubmitted{JobId(1), "", spec});
    key_ = state_.NextAttempt(JobId(1));
    Apply(AttemptPlaced{key_, {"a", "cpu0"}, "batch8"});
  }

  void Apply(const Event& event, double second = 0) {
    const absl::Status status = state_.Check(event, AtSecond(second));
    ASSERT_TRUE(status.ok()) << status;
    state_.Apply(event, TimeAt(second));
  }

  AgentRegistered Hello(std::vector<AttemptKey> live) {
    AgentRegistered hello = HelloFrom("a", 2, {FilledDevice("a", "cpu0")});
    hello.live_attempts = std::move(live);
    return hello;
  }

  AgentRegistered HelloAfterRestart() {
    AgentRegistered hello = Hello({});
    hello.boot_id = "boot-2";
    return hello;
  }

  // Events other than the hello itself.
  static size_t CountChanges(const Decision& decision) { return decision.events.size() - 1; }

  template <typename T>
  static const T* Find(const Decision& decision) {
    for (const Action& action : decision.actions) {
      if (const T* found = std::get_if<T>(&action)) return found;
    }
    return nullptr;
  }

  ClusterState state_{ClusterLimits{}};
  AttemptKey key_;
};

TEST_F(ReconcileTest, AMovedAttemptIsStoppedAgainWhenItsAgentIsBack) {
  Apply(AttemptStarted{key_});
  Apply(MoveRequested{JobId(1), {"b", "cpu1"}});
  const std::vector<Action> actions = {ActionToMakeWay(state_, JobId(1))};
  ASSERT_EQ(actions.size(), 1U);
  EXPECT_EQ(std::get<StopAttempt>(actions[0]).text, "moved: a user wants it on b/cpu1");
  for (const AgentRegistered& hello : {Hello({key_}), Hello({})}) {
    const Decision decision = ReconcileHello(state_, hello);
    const auto* stop = Find<StopAttempt>(decision);
    ASSERT_NE(stop, nullptr);
    EXPECT_EQ(stop->cause, EndCause::kLost);
    EXPECT_EQ(stop->attempt, key_);
  }
}

TEST_F(ReconcileTest, AMovedAttemptThatWasNeverLaunchedIsNotLaunchedAnyMore) {
  Apply(MoveRequested{JobId(1), {"b", "cpu1"}});
  const Decision decision = ReconcileHello(state_, Hello({}));
  EXPECT_EQ(Find<LaunchAttempt>(decision), nullptr);
  EXPECT_NE(Find<StopAttempt>(decision), nullptr);
}

TEST_F(ReconcileTest, AnEndIsAcknowledgedWithTheWordThatNoAttemptFollows) {
  const auto over = [&](const AttemptEnded& ended) {
    return Find<AcknowledgeEnd>(ReconcileEnd(state_, "a", ended))->job_over_submitted_at;
  };
  EXPECT_EQ(over(EndOf(key_, EndCause::kLost)), std::nullopt);
  EXPECT_EQ(over(ExitOf(key_, 0)), TimeAt(0).wall);
  EXPECT_EQ(over(ExitOf(key_, 1)), TimeAt(0).wall);  // without retries
  EXPECT_EQ(over(ExitOf({JobId(7), key_.attempt, key_.fence}, 0)), std::nullopt);
  Apply(ExitOf(key_, 0));
  EXPECT_EQ(over(ExitOf(key_, 0)), TimeAt(0).wall);
}

TEST_F(ReconcileTest, AgentKnowsAllSettingsBeforeItsWelcome) {
  Apply(MainJobUpdated{PausedMainJob("gpt")});
  const Decision decision = ReconcileHello(state_, Hello({key_}));
  ASSERT_GE(decision.actions.size(), 2U);
  EXPECT_EQ(std::get<SetMainJob>(decision.actions[0]).settings, PausedMainJob("gpt"));
  EXPECT_TRUE(std::holds_alternative<WelcomeAgent>(decision.actions[1]));
}

TEST_F(ReconcileTest, ChangeOfSettingsGoesToEveryAgentThatIsThere) {
  Apply(HelloFrom("b", 7, {FilledDevice("b", "cpu0")}));
  Apply(HelloFrom("c", 8, {}));
  Apply(AgentDisconnected{SessionId(8)});
  Apply(MainJobUpdated{PausedMainJob("gpt")});

  const std::vector<Action> actions = ActionsForMainJob(state_, "gpt");

  ASSERT_EQ(actions.size(), 2U);
  EXPECT_EQ(NodeOf(actions[0]), "a");
  EXPECT_EQ(NodeOf(actions[1]), "b");
  EXPECT_TRUE(std::get<SetMainJob>(actions[1]).settings.is_paused);
}

TEST_F(ReconcileTest, WelcomeComesFirstAndHelloIsTheLastEvent) {
  const Decision decision = ReconcileHello(state_, Hello({key_}));
  ASSERT_FALSE(decision.actions.empty());
  EXPECT_TRUE(std::holds_alternative<WelcomeAgent>(decision.actions.front()));
  EXPECT_TRUE(std::holds_alternative<AgentRegistered>(decision.events.back()));
}

TEST_F(ReconcileTest, NamedAttemptThatWasNotKnownToRunHasStarted) {
  const Decision decision = ReconcileHello(state_, Hello({key_}));
  ASSERT_EQ(CountChanges(decision), 1U);
  EXPECT_EQ(std::get<AttemptStarted>(decision.events[0]).attempt, key_);
}

TEST_F(ReconcileTest, NamedAttemptThatIsKnownToRunChangesNothing) {
  Apply(AttemptStarted{key_});
  const Decision decision = ReconcileHello(state_, Hello({key_}));
  EXPECT_EQ(CountChanges(decision), 0U);
  EXPECT_EQ(decision.actions.size(), 1U);
}

TEST_F(ReconcileTest, LaunchThatWasLostIsRepeated) {
  const Decision decision = ReconcileHello(state_, Hello({}));
  EXPECT_EQ(CountChanges(decision), 0U);
  const auto* launch = Find<LaunchAttempt>(decision);
  ASSERT_NE(launch, nullptr);
  EXPECT_EQ(launch->attempt, key_);
  ASSERT_TRUE(launch->configuration.has_value());
  EXPECT_EQ(launch->configuration->name, "batch8");
}

TEST_F(ReconcileTest, RunningAttemptThatIsNotNamedIsAskedForItsEnd) {
  Apply(AttemptStarted{key_});
  const Decision decision = ReconcileHello(state_, Hello({}));
  EXPECT_EQ(CountChanges(decision), 0U);
  const auto* stop = Find<StopAttempt>(decision);
  ASSERT_NE(stop, nullptr);
  EXPECT_EQ(stop->cause, EndCause::kLost);
}

TEST_F(ReconcileTest, RestartedAgentHasLostWhatItDoesNotName) {
  Apply(AgentDisconnected{SessionId(1)});
  const Decision decision = ReconcileHello(state_, HelloAfterRestart());
  ASSERT_EQ(CountChanges(decision), 1U);
  const auto& ended = std::get<AttemptEnded>(decision.events[0]);
  EXPECT_EQ(ended.attempt, key_);
  EXPECT_EQ(ended.end.cause, EndCause::kLost);
  EXPECT_EQ(ended.end.text, "its agent was restarted: node=a");
}

TEST_F(ReconcileTest, RestartedAgentKeepsWhatItNames) {
  Apply(AttemptStarted{key_});
  Apply(AgentDisconnected{SessionId(1)});
  AgentRegistered hello = HelloAfterRestart();
  hello.live_attempts = {key_};
  const Decision decision = ReconcileHello(state_, hello);
  EXPECT_EQ(CountChanges(decision), 0U);
  EXPECT_EQ(Find<StopAttempt>(decision), nullptr);
}

TEST_F(ReconcileTest, RestartedAgentStopsWhatItNamesButWasGivenUp) {
  Apply(AgentDisconnected{SessionId(1)});
  AttemptEnded lost;
  lost.attempt = key_;
  lost.end.cause = EndCause::kLost;
  Apply(lost);
  AgentRegistered hello = HelloAfterRestart();
  hello.live_attempts = {key_};
  const Decision decision = ReconcileHello(state_, hello);
  const auto* stop = Find<StopAttempt>(decision);
  ASSERT_NE(stop, nullptr);
  EXPECT_EQ(stop->attempt, key_);
  EXPECT_EQ(stop->cause, EndCause::kLost);
}

TEST_F(ReconcileTest, AfterRestartOfSchedulerdTheBootIsNotTakenForNew) {
  ClusterState recovered{ClusterLimits{}};
  recovered.Apply(JobSubmitted{JobId(1), "", SpecThatNeeds(kMiB)}, TimeAt(0));
  recovered.Apply(AttemptPlaced{recovered.NextAttempt(JobId(1)), {"a", "cpu0"}}, TimeAt(0));
  recovered.FinishReplay(AtSecond(100));

  const Decision decision = ReconcileHello(recovered, HelloAfterRestart());

  EXPECT_EQ(CountChanges(decision), 0U);
  EXPECT_NE(Find<LaunchAttempt>(decision), nullptr);
}

TEST_F(ReconcileTest, CancelIsRepeatedWhetherTheAttemptIsNamedOrNot) {
  Apply(AttemptStarted{key_});
  Apply(CancelRequested{JobId(1)});
  for (const std::vector<AttemptKey>& live : {std::vector<AttemptKey>{key_}, {}}) {
    const auto decision = ReconcileHello(state_, Hello(live));
    const auto* stop = Find<StopAttempt>(decision);
    ASSERT_NE(stop, nullptr);
    EXPECT_EQ(stop->cause, EndCause::kCancelled);
  }
}

TEST_F(ReconcileTest, UnknownAndGivenUpAttemptsAreStoppedBeforeTheWelcome) {
  Apply(EndOf(key_, EndCause::kLost));
  const AttemptKey unknown{JobId(77), AttemptNumber(1), Fence(77)};
  const Decision decision = ReconcileHello(state_, Hello({key_, unknown}));
  EXPECT_EQ(CountChanges(decision), 0U);
  ASSERT_EQ(decision.actions.size(), 3U);
  EXPECT_EQ(std::get<StopAttempt>(decision.actions[0]).attempt, key_);
  EXPECT_EQ(std::get<StopAttempt>(decision.actions[0]).cause, EndCause::kLost);
  EXPECT_EQ(std::get<StopAttempt>(decision.actions[1]).attempt, unknown);
  EXPECT_TRUE(std::holds_alternative<WelcomeAgent>(decision.actions[2]));
}

TEST_F(ReconcileTest, AttemptOfAnotherNodeIsStopped) {
  AgentRegistered hello = HelloFrom("b", 2, {});
  hello.live_attempts = {key_};
  EXPECT_NE(Find<StopAttempt>(ReconcileHello(state_, hello)), nullptr);
}

// --- Words about attempts ---

TEST_F(ReconcileTest, StartIsRecordedOnce) {
  EXPECT_EQ(ReconcileStart(state_, "a", {key_}).events.size(), 1U);
  Apply(AttemptStarted{key_});
  const Decision repeated = ReconcileStart(state_, "a", {key_});
  EXPECT_TRUE(repeated.events.empty());
  EXPECT_TRUE(repeated.actions.empty());
}

TEST_F(ReconcileTest, StartOfGivenUpAttemptIsAnsweredWithStop) {
  Apply(EndOf(key_, EndCause::kLost));
  const Decision decision = ReconcileStart(state_, "a", {key_});
  EXPECT_TRUE(decision.events.empty());
  EXPECT_NE(Find<StopAttempt>(decision), nullptr);
}

TEST_F(ReconcileTest, EndIsRecordedAndAcknowledged) {
  const Decision decision = ReconcileEnd(state_, "a", ExitOf(key_, 0));
  EXPECT_EQ(decision.events.size(), 1U);
  EXPECT_NE(Find<AcknowledgeEnd>(decision), nullptr);
}

TEST_F(ReconcileTest, RepeatedAndStaleEndsAreAcknowledgedAndIgnored) {
  Apply(EndOf(key_, EndCause::kLost));
  const Decision decision = ReconcileEnd(state_, "a", ExitOf(key_, 0));
  EXPECT_TRUE(decision.events.empty());
  EXPECT_NE(Find<AcknowledgeEnd>(decision), nullptr);
}

TEST_F(ReconcileTest, EndToldByAnotherNodeIsIgnored) {
  EXPECT_TRUE(ReconcileEnd(state_, "b", ExitOf(key_, 0)).events.empty());
}

// --- Giving up ---

TEST_F(ReconcileTest, LostNodeEndsItsAttemptsThenItself) {
  const Decision decision = GiveUpNode(state_, "a", AtSecond(15));
  ASSERT_EQ(decision.events.size(), 2U);
  const auto& ended = std::get<AttemptEnded>(decision.events[0]);
  EXPECT_EQ(ended.end.cause, EndCause::kLost);
  EXPECT_EQ(ended.end.text, "its agent was lost: node=a silent=15 s");
  for (const Event& event : decision.events) Apply(event, 15);
  EXPECT_EQ((*state_.FindJob(JobId(1)))->phase, JobPhase::kPending);
  EXPECT_EQ(state_.nodes().Find("a"), nullptr);
}

// Its launch may be on its way, so it is stopped first; two of a job must not work at once.
TEST_F(ReconcileTest, AttemptThatDoesNotShowUpIsStoppedAndThenGivenUp) {
  Apply(AttemptStarted{key_});
  Apply(Hello({}), 20);
  EXPECT_TRUE(GiveUpOverdue(state_, AtSecond(34.9)).actions.empty());
  EXPECT_EQ(state_.NextDeadline(AtSecond(34.9)), AtSecond(35));
  const Decision asked = GiveUpOverdue(state_, AtSecond(35));
  EXPECT_TRUE(asked.events.empty());
  EXPECT_EQ(Find<StopAttempt>(asked)->attempt, key_);
  Apply(ReportFrom(2, {FilledDevice("a", "cpu0")}), 40);
  EXPECT_EQ(state_.NextDeadline(AtSecond(40)), AtSecond(50));
  EXPECT_TRUE(GiveUpOverdue(state_, AtSecond(49.9)).events.empty());
  const Decision decision = GiveUpOverdue(state_, AtSecond(50));
  ASSERT_EQ(decision.events.size(), 1U);
  EXPECT_EQ(std::get<AttemptEnded>(decision.events[0]).attempt, key_);
  EXPECT_NE(Find<StopAttempt>(decision), nullptr);
}

TEST_F(ReconcileTest, AttemptThatEndsInTimeIsNotGivenUp) {
  Apply(AttemptStarted{key_});
  Apply(Hello({}), 20);
  Apply(ExitOf(key_, 0), 21);
  EXPECT_TRUE(GiveUpOverdue(state_, AtSecond(100)).events.empty());
}

// --- What follows from events ---

TEST_F(ReconcileTest, CancelOfLiveAttemptStopsIt) {
  Apply(CancelRequested{JobId(1)});
  const std::vector<Action> actions = ActionsForStop(state_, JobId(1));
  ASSERT_EQ(actions.size(), 1U);
  EXPECT_EQ(std::get<StopAttempt>(actions[0]).cause, EndCause::kCancelled);
  EXPECT_EQ(NodeOf(actions[0]), "a");
}

TEST_F(ReconcileTest, CancelOfAJobThatWaitsForItsNextAttemptHasItsNodesForgetIt) {
  Apply(EndOf(key_, EndCause::kLost));
  Apply(HelloFrom("b", 7, {FilledDevice("b", "cpu0")}));
  const AttemptKey second = state_.NextAttempt(JobId(1));
  Apply(AttemptPlaced{second, {"b", "cpu0"}, ""});
  Apply(EndOf(second, EndCause::kLost));
  Apply(CancelRequested{JobId(1)});
  const std::vector<Action> actions = ActionsForStop(state_, JobId(1));
  ASSERT_EQ(actions.size(), 2U);
  EXPECT_EQ(NodeOf(actions[0]), "a");
  EXPECT_EQ(NodeOf(actions[1]), "b");
  EXPECT_EQ(std::get<AcknowledgeEnd>(actions[1]).attempt, second);
  EXPECT_EQ(std::get<AcknowledgeEnd>(actions[1]).job_over_submitted_at, TimeAt(0).wall);
}

TEST_F(ReconcileTest, AJobThatIsOverIsForgottenByTheNodesOfItsEarlierAttemptsToo) {
  Apply(EndOf(key_, EndCause::kLost));
  Apply(HelloFrom("b", 7, {FilledDevice("b", "cpu0")}));
  const AttemptKey second = state_.NextAttempt(JobId(1));
  Apply(AttemptPlaced{second, {"b", "cpu0"}, ""});
  const Decision decision = ReconcileEnd(state_, "b", ExitOf(second, 0));
  ASSERT_EQ(decision.actions.size(), 2U);
  EXPECT_EQ(NodeOf(decision.actions[0]), "b");
  EXPECT_EQ(NodeOf(decision.actions[1]), "a");
  EXPECT_NE(std::get<AcknowledgeEnd>(decision.actions[1]).job_over_submitted_at, std::nullopt);
}

TEST_F(ReconcileTest, AnEvictedAttemptIsStoppedAlsoWhenItsBeneficiaryHasLeftTheHistory) {
  Apply(AttemptStarted{key_});
  JobSpec spec = SpecThatNeeds(kMiB);
  spec.priority = 7;
  Apply(JobSubmitted{JobId(2), "", spec});
  Apply(EvictionRequested{key_, JobId(2)});
  EXPECT_EQ(Find<StopAttempt>(ReconcileHello(state_, Hello({key_})))->text,
            "evicted: job 2 of priority 7 needs its place");
  Apply(CancelRequested{JobId(2)});
  Apply(HistoryDropped{{JobId(2)}});
  EXPECT_EQ(Find<StopAttempt>(ReconcileHello(state_, Hello({key_})))->text,
            "evicted: job 2 needs its place");
}

TEST_F(ReconcileTest, TheEndOfALostAttemptHoldsWhatItWasReportedToHaveDone) {
  Apply(AttemptStarted{key_});
  AgentReported report = ReportFrom(1, {FilledDevice("a", "cpu0")});
  report.progress.emplace_back(key_, FillProgress{.units = 500, .unit_cpu_in_bubble_ns = 9});
  Apply(report);
  const Decision decision = GiveUpNode(state_, "a", AtSecond(60));
  const auto& ended = std::get<AttemptEnded>(decision.events.at(0));
  EXPECT_EQ(ended.progress.units, 500);
  EXPECT_EQ(ended.useful_ns, 9);
}

TEST_F(ReconcileTest, CancelOfPendingJobNeedsNoAgent) {
  Apply(JobSubmitted{JobId(2), "", SpecThatNeeds(kMiB)});
  Apply(CancelRequested{JobId(2)});
  EXPECT_TRUE(ActionsForStop(state_, JobId(2)).empty());
}

}  // namespace
}  // namespace pipefill::scheduler
