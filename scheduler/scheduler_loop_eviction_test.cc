// Priorities, evictions, refusals and policies that fail, through the loop.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/policies/lua.h"
#include "scheduler/testing/loop_fixture.h"

namespace pipefill::scheduler {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class EvictionTest : public SchedulerLoopTest {
 protected:
  void SubmitWith(const std::function<void(JobSpec*)>& change) {
    JobSpec spec = SpecThatNeeds(100 * kMiB, 1);
    change(&spec);
    absl::Status result = absl::UnknownError("not answered");
    ASSERT_TRUE(loop_
                    ->Post(SubmitRequest{"", spec,
                                         [&](const absl::StatusOr<Submission>& answer) {
                                           result = answer.status();
                                         }})
                    .ok());
    time_->RunReady();
    ASSERT_TRUE(result.ok()) << result;
  }
  void SubmitOf(int32_t priority) {
    SubmitWith([&](JobSpec* spec) { spec->priority = priority; });
  }

  std::vector<StopAttempt> Stops() const { return agents_.All<StopAttempt>(); }

  // Job 1 runs on the only seat.
  AttemptKey RunFirst(int32_t priority = 0) {
    DialIn(1);
    SubmitOf(priority);
    const AttemptKey first = LastLaunched();
    Say(1, AttemptStarted{first});
    return first;
  }
};

TEST_F(EvictionTest, HigherPriorityGetsThePlaceAndTheVictimComesBackAfterwards) {
  const AttemptKey first = RunFirst();
  SubmitOf(0);
  EXPECT_THAT(Stops(), IsEmpty());
  SubmitOf(5);

  ASSERT_THAT(Stops(), SizeIs(1));
  EXPECT_EQ(Stops()[0].attempt, first);
  EXPECT_EQ(Stops()[0].cause, EndCause::kLost);
  EXPECT_EQ(Stops()[0].text, "evicted: job 3 of priority 5 needs its place");
  EXPECT_EQ(Get(1).live_attempt().evicted_for, JobId(3));
  EXPECT_EQ(Get(3).reserved->device, (DeviceKey{"a", "cpu0"}));

  AttemptEnded ended = EndOf(first, EndCause::kLost);
  ended.end.text = Stops()[0].text;
  Say(1, ended);
  EXPECT_EQ(LastLaunched().job, JobId(3));
  EXPECT_EQ(Get(3).reserved, std::nullopt);
  EXPECT_EQ(Get(1).phase, JobPhase::kPending);
  EXPECT_EQ(Get(1).failures, 0);

  Say(1, ExitOf(LastLaunched(), 0));
  EXPECT_EQ(LastLaunched(), (AttemptKey{JobId(1), AttemptNumber(2), Fence(3)}));
  EXPECT_THAT(Stops(), SizeIs(1));
}

TEST_F(EvictionTest, RestartForgetsNeitherTheEvictionNorForWhom) {
  const AttemptKey first = RunFirst();
  SubmitOf(5);
  SubmitOf(0);
  Restart();
  DialIn(2, {first});
  // Told again, once; nobody gets what is kept for job 2.
  ASSERT_THAT(Stops(), SizeIs(1));
  EXPECT_EQ(Stops()[0].text, "evicted: job 2 of priority 5 needs its place");
  Say(2, EndOf(first, EndCause::kLost));
  EXPECT_EQ(LastLaunched().job, JobId(2));
}

TEST_F(EvictionTest, TaskKeepsItsPlaceForItsLeastTime) {
  DialIn(1);
  SubmitWith([](JobSpec* spec) { spec->min_runtime = absl::Seconds(3); });
  Say(1, AttemptStarted{LastLaunched()});
  SubmitOf(5);
  PassReporting(2);
  EXPECT_THAT(Stops(), IsEmpty());
  PassReporting(1);
  EXPECT_THAT(Stops(), SizeIs(1));
}

TEST_F(EvictionTest, WhoIsNotEvictableOrHasNotStartedStays) {
  DialIn(1);
  SubmitWith([](JobSpec* spec) { spec->is_evictable = false; });
  SubmitOf(5);
  EXPECT_THAT(Stops(), IsEmpty());
  Say(1, AttemptStarted{LastLaunched()});
  EXPECT_THAT(Stops(), IsEmpty());
}

TEST_F(EvictionTest, CancellingTheBeneficiaryFreesThePlaceForOthers) {
  const AttemptKey first = RunFirst();
  SubmitOf(5);
  SubmitOf(1);
  ASSERT_TRUE(Cancel(2).ok());
  Say(1, EndOf(first, EndCause::kLost));
  EXPECT_EQ(LastLaunched().job, JobId(3));
}

TEST_F(EvictionTest, RefusedLaunchesCountAgainstTheNodeUntilItIsTriedAgain) {
  DialIn(1);
  SubmitOf(0);
  for (int i = 0; i < 3; ++i) {
    AttemptEnded refused = EndOf(LastLaunched(), EndCause::kRefused);
    refused.end.text = "no space left on device";
    Say(1, refused);
    EXPECT_EQ(Get(1).phase, JobPhase::kPending);
    PassReporting(5);
  }
  // One retry, and three refusals: they use up none.
  EXPECT_EQ(Get(1).failures, 0);
  EXPECT_EQ(Get(1).attempts.size(), 3U);
  const auto view = board_.Latest();
  ASSERT_TRUE(view->quarantines->contains("a"));
  EXPECT_THAT(view->quarantines->at("a").text, HasSubstr("no space left on device"));
  EXPECT_EQ(view->plan->numbers.devices_quarantined, 1);
  PassReporting(54);
  EXPECT_EQ(Get(1).attempts.size(), 3U);
  PassReporting(2);
  EXPECT_EQ(Get(1).attempts.size(), 4U);
  EXPECT_EQ(Get(1).phase, JobPhase::kStarting);
}

TEST_F(EvictionTest, RefusalsOfBeforeARestartAreForgotten) {
  DialIn(1);
  SubmitOf(0);
  for (int i = 0; i < 3; ++i) {
    Say(1, EndOf(LastLaunched(), EndCause::kRefused));
    PassReporting(5);
  }
  ASSERT_TRUE(board_.Latest()->quarantines->contains("a"));
  Restart();
  EXPECT_THAT(*board_.Latest()->quarantines, IsEmpty());
}

TEST_F(EvictionTest, WhyIsAnsweredByTheLoop) {
  RunFirst(3);
  SubmitOf(0);
  std::optional<WaitDetail> detail;
  ASSERT_TRUE(
      loop_->Post(WhyRequest{JobId(2), [&](std::optional<WaitDetail> answer) { detail = answer; }})
          .ok());
  time_->RunReady();
  ASSERT_TRUE(detail.has_value());
  EXPECT_EQ(detail->place, 1U);
  EXPECT_THAT(detail->help[0], HasSubstr("job 1 of priority 3 holds the place"));
}

TEST_F(EvictionTest, PolicyThatFailsIsReplacedAndNamed) {
  const auto script = *LuaPolicy::Load("function job(j) return j.nothing.x end", "site.lua");
  ClusterState state{ClusterLimits{}};
  loop_ = std::make_unique<SchedulerLoop>(LoopDependencies{.loop = *time_,
                                                           .clock = *time_,
                                                           .journal = journal_,
                                                           .agents = agents_,
                                                           .policy = *script,
                                                           .fallback = &policy_,
                                                           .board = board_,
                                                           .on_fatal = nullptr},
                                          limits_, std::move(state));
  loop_->Start();
  DialIn(1);
  SubmitOf(0);
  EXPECT_EQ(LastLaunched().job, JobId(1));
  EXPECT_THAT(board_.Latest()->policy_error, HasSubstr("site.lua:1: "));
  loop_ = nullptr;  // before the script
}

TEST_F(EvictionTest, UseOfATenantSurvivesARestart) {
  DialIn(1);
  SubmitWith([](JobSpec* spec) { spec->tenant = "vision"; });
  AttemptEnded ended = ExitOf(LastLaunched(), 0);
  ended.progress.unit_cpu_in_bubble_ns = 4'000'000'000;
  Say(1, ended);
  const auto used = [&] {
    for (const TenantUse& tenant : board_.Latest()->tenants) {
      if (tenant.limits.name == "vision") return tenant.used_seconds;
    }
    return 0.0;
  };
  EXPECT_NEAR(used(), 4, 1e-6);
  Restart();
  EXPECT_NEAR(used(), 4, 1e-6);
}

}  // namespace
}  // namespace pipefill::scheduler
