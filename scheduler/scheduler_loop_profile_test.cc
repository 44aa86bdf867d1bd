// Which profile jobs go by, and what follows from it, through the whole of schedulerd's loop.
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "scheduler/core/explain.h"
#include "scheduler/testing/loop_fixture.h"

namespace pipefill::scheduler {
namespace {

constexpr int64_t kMs = 1'000'000;

Configuration UnitsOf(const std::string& name, int64_t time_ns) {
  Configuration configuration;
  configuration.name = name;
  configuration.chain = {{.time_ns = time_ns}};
  return configuration;
}

class LoopProfileTest : public SchedulerLoopTest {
 protected:
  // Bubbles of cpu0, of that length.
  void LearnBubbles(int64_t length_ns) {
    Device device = FilledDevice("a", "cpu0");
    device.main_rank->iteration_p50_ns = 100 * kMs;
    AgentReported report = ReportFrom(1, {device});
    BubbleStats& bubble = report.bubbles.emplace_back();
    bubble.device = device.key;
    bubble.offer = BubbleOffer::kYes;
    bubble.p10_ns = bubble.p50_ns = bubble.p90_ns = length_ns;
    Say(1, std::move(report));
  }

  void SubmitSpec(const JobSpec& spec) {
    EXPECT_TRUE(loop_->Post(SubmitRequest{"", spec, [](const auto&) {}}).ok());
    time_->RunReady();
  }

  JobSpec SpecWithUnitsOf(int64_t time_ns, int32_t retries = 0) {
    JobSpec spec = SpecThatNeeds(100 * kMiB, retries);
    spec.profile.configurations = {UnitsOf("plain", time_ns)};
    return spec;
  }
};

TEST_F(LoopProfileTest, JobPlacedBeforeItsBubblesAreLearnedIsToldWhatToDoWhenItStartsAgain) {
  DialIn(1);
  SubmitSpec(SpecWithUnitsOf(kMs, /*retries=*/1));
  ASSERT_EQ(agents_.All<LaunchAttempt>().size(), 1U);
  EXPECT_FALSE(agents_.All<LaunchAttempt>()[0].configuration.has_value());
  LearnBubbles(5 * kMs);
  Say(1, EndOf(LastLaunched(), EndCause::kLost));
  ASSERT_EQ(agents_.All<LaunchAttempt>().size(), 2U);
  ASSERT_TRUE(agents_.All<LaunchAttempt>()[1].configuration.has_value());
  EXPECT_EQ(agents_.All<LaunchAttempt>()[1].configuration->name, "plain");
}

TEST_F(LoopProfileTest, JobWhoseUnitsFitNoBubbleWaitsAndSaysSo) {
  DialIn(1);
  LearnBubbles(5 * kMs);
  SubmitSpec(SpecWithUnitsOf(9 * kMs));
  EXPECT_TRUE(agents_.All<LaunchAttempt>().empty());
  const Job& job = Get(1);
  const std::optional<PendingReason> reason = ReasonOf(job, *view_->plan, time_->Now());
  ASSERT_TRUE(reason.has_value());
  EXPECT_EQ(reason->code, PendingCode::kNoBubbleFits);
  EXPECT_EQ(reason->need_unit.unit_ns, 9 * kMs);
  EXPECT_EQ(reason->misfit.room.longest_unit_ns, 5 * kMs);
  LearnBubbles(10 * kMs);
  EXPECT_EQ(agents_.All<LaunchAttempt>().size(), 1U);
}

TEST_F(LoopProfileTest, JobSubmittedAgainGoesByWhatTheFirstOneLearnedAlsoAfterARestart) {
  DialIn(1);
  ASSERT_TRUE(Submit().ok());
  AttemptEnded ended = ExitOf(LastLaunched(), 0);
  ended.progress = {.units = 500, .unit_cpu_ns = 500 * 2 * kMs, .unit_estimate_ns = 3 * kMs};
  Say(1, ended);
  Restart();
  ASSERT_TRUE(Submit().ok());
  EXPECT_EQ(Get(2).profile.source, "learned by job 1");
  EXPECT_EQ(Get(2).profile.profile->samples_total, 500);
  EXPECT_EQ(Get(2).profile.profile->configurations[0].chain[0].time_ns, 2 * kMs);
}

}  // namespace
}  // namespace pipefill::scheduler
