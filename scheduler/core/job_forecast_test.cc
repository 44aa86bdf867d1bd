#include "scheduler/core/job_forecast.h"

#include <gtest/gtest.h>

#include <memory>

#include "scheduler/testing/builders.h"

namespace pipefill::scheduler {
namespace {

constexpr int64_t kMs = 1'000'000;

Configuration UnitsOf(int64_t time_ns, std::string name, int64_t samples) {
  Configuration configuration;
  configuration.name = std::move(name);
  configuration.samples_per_pass = samples;
  configuration.chain = {{.time_ns = time_ns}};
  return configuration;
}

// Node "a" with one device, whose main job has iterations of 100 ms with one bubble of 10 ms.
class JobForecastTest : public testing::Test {
 protected:
  JobForecastTest() {
    Node node;
    node.name = "a";
    node.devices = {FilledDevice("a", "cpu0", 2)};
    node.devices[0].main_rank->iteration_p50_ns = 100 * kMs;
    node.devices[0].resident = 1;
    BubbleStats& bubble = node.bubbles.emplace_back();
    bubble.device = kDevice;
    bubble.bubble_class = BubbleClass::kMiddle;
    bubble.offer = BubbleOffer::kYes;
    bubble.p10_ns = bubble.p50_ns = bubble.p90_ns = 10 * kMs + 20'000;  // with the hand-over
    Set(node);
    JobSpec spec = SpecThatNeeds(100 * kMiB);
    spec.profile.configurations = {UnitsOf(9 * kMs, "large", 10), UnitsOf(kMs, "small", 1)};
    spec.profile.samples_total = 10'000;
    Run(spec, "large");
  }

  void Set(const Node& node) { nodes_.Set(std::make_shared<const Node>(node)); }
  Node Get() const { return *nodes_.find("a")->second; }

  void Run(const JobSpec& spec, const std::string& configuration) {
    job_.id = JobId(1);
    job_.spec = std::make_shared<const JobSpec>(spec);
    job_.profile = {.profile = std::make_shared<const FillProfile>(job_.spec->profile)};
    job_.phase = JobPhase::kRunning;
    job_.attempts.resize(1);
    job_.attempts[0].device = kDevice;
    job_.attempts[0].configuration = configuration;
  }

  JobForecast Forecast() const {
    const std::optional<JobForecast> forecast = ForecastJob(job_, nodes_);
    EXPECT_TRUE(forecast.has_value());
    return forecast.value_or(JobForecast());
  }

  const DeviceKey kDevice{"a", "cpu0"};
  NodeMap nodes_;
  Job job_;
};

TEST_F(JobForecastTest, ChoosesTheConfigurationThatIsFastestThere) {
  EXPECT_EQ(ChooseConfiguration(job_, nodes_, kDevice), "large");  // 10 samples a bubble, or 10
  Node node = Get();
  node.bubbles[0].p10_ns = node.bubbles[0].p50_ns = node.bubbles[0].p90_ns = 5 * kMs;
  Set(node);
  EXPECT_EQ(ChooseConfiguration(job_, nodes_, kDevice), "small");
}

TEST_F(JobForecastTest, ChoosesNothingWithoutProfileOrBubbles) {
  EXPECT_EQ(ChooseConfiguration(job_, nodes_, {"b", "cpu0"}), "");
  EXPECT_EQ(ChooseConfiguration(job_, nodes_, {"a", "cpu1"}), "");
  Node node = Get();
  node.bubbles[0].offer = BubbleOffer::kTooFew;
  Set(node);
  EXPECT_EQ(ChooseConfiguration(job_, nodes_, kDevice), "");
  EXPECT_EQ(Forecast().text, "no bubble of a/cpu0 is offered now");
  Run(SpecThatNeeds(kMiB), "");
  EXPECT_EQ(ChooseConfiguration(job_, nodes_, kDevice), "");
}

TEST_F(JobForecastTest, ProfileGivesRateAndTimeLeft) {
  job_.attempts[0].progress.units = 100;  // 1,000 samples
  job_.attempts[0].progress.unit_cpu_ns = 100 * 9 * kMs;
  const JobForecast forecast = Forecast();
  EXPECT_DOUBLE_EQ(forecast.rate.mid, 100 * 15.0 / 16);  // hold-outs
  ASSERT_TRUE(forecast.seconds_left.has_value());
  EXPECT_DOUBLE_EQ(forecast.seconds_left->mid, 9'000 / forecast.rate.mid);
  EXPECT_EQ(forecast.configuration, "large");
  EXPECT_EQ(forecast.text, "from its profile, 1 bubbles of a/cpu0");
}

TEST_F(JobForecastTest, UnitsThatTakeLongerThanInTheProfileSlowItDown) {
  Run(*job_.spec, "small");
  job_.attempts[0].progress.units = 1'000;
  job_.attempts[0].progress.unit_cpu_ns = 1'000 * 2 * kMs;
  EXPECT_DOUBLE_EQ(Forecast().rate.mid, 50 * 15.0 / 16);
  EXPECT_DOUBLE_EQ(Forecast().seconds_left->mid, 9'000 / Forecast().rate.mid);
  EXPECT_EQ(Forecast().text,
            "from its profile, with units 2 times as long, as they were so far, 1 bubbles of "
            "a/cpu0");
}

TEST_F(JobForecastTest, ElasticUnitsAreComparedByWhatAPieceTakes) {
  JobSpec spec = *job_.spec;
  spec.profile.configurations = {UnitsOf(8 * kMs, "n4", 4)};  // 2 ms a piece
  spec.profile.configurations[0].batch_size = 4;
  Run(spec, "n4");
  // Units of one piece, and each takes 2.5 ms: not shorter than in the profile, but longer.
  job_.attempts[0].progress = {.units = 100, .unit_cpu_ns = 100 * 5 * kMs / 2};
  job_.attempts[0].progress.pieces = 100;
  EXPECT_EQ(Forecast().text,
            "from its profile, with units 1.2 times as long, as they were so far, 1 bubbles of "
            "a/cpu0");
  EXPECT_DOUBLE_EQ(Forecast().rate.mid, 4 * 10 * 15.0 / 16);  // one unit of 10 ms a bubble
  EXPECT_DOUBLE_EQ(Forecast().seconds_left->mid, 9'900 / Forecast().rate.mid);
}

TEST_F(JobForecastTest, IsCorrectedByWhatCameAboutInTheLastSeconds) {
  Run(*job_.spec, "small");  // planned: 100 units a second, but for hold-outs
  Attempt& attempt = job_.attempts[0];
  attempt.progress = {.units = 1'300, .unit_cpu_ns = 1'300 * kMs};
  attempt.progress_at = AtSecond(24);
  attempt.pace = Pace{.older_mark = {.progress = {.units = 1'000}, .at = AtSecond(20.5)}};
  EXPECT_DOUBLE_EQ(Forecast().rate.mid, 100 * 15.0 / 16);  // too short to tell
  attempt.pace->older_mark.at = AtSecond(20);
  EXPECT_DOUBLE_EQ(Forecast().rate.mid, 75);
  EXPECT_DOUBLE_EQ(Forecast().rate.low, 75);
  EXPECT_DOUBLE_EQ(Forecast().seconds_left->mid, 8'700 / 75.0);
  EXPECT_EQ(Forecast().text,
            "from its profile, 1 bubbles of a/cpu0, times 0.800, as in the last seconds");
  attempt.pace->older_mark.progress.units = attempt.progress.units;  // held up by something else
  EXPECT_DOUBLE_EQ(Forecast().rate.mid, 25 * 15.0 / 16);
}

TEST_F(JobForecastTest, UnitsFromBeforeTheAttemptHasSettledDoNotCount) {
  Run(*job_.spec, "small");
  Attempt& attempt = job_.attempts[0];
  attempt.pace = Pace{.settled = {.units = 64, .unit_cpu_ns = 64 * 100 * kMs}};
  attempt.progress = {.units = 1'064, .unit_cpu_ns = (64 * 100 + 1'000 * 2) * kMs};
  EXPECT_DOUBLE_EQ(Forecast().rate.mid, 50 * 15.0 / 16);
  attempt.progress = {.units = 71, .unit_cpu_ns = 64 * 100 * kMs};  // 7 tell nothing yet
  EXPECT_EQ(Forecast().rate.mid, 0);
}

TEST_F(JobForecastTest, ShorterUnitsMayBeSmallerOnesAndCountForLess) {
  Run(*job_.spec, "small");
  job_.attempts[0].progress.units = 1'000;
  job_.attempts[0].progress.unit_cpu_ns = 1'000 * kMs / 2;
  EXPECT_DOUBLE_EQ(Forecast().rate.mid, 100 * 15.0 / 16);
  EXPECT_DOUBLE_EQ(Forecast().seconds_left->mid, 9'500 / Forecast().rate.mid);
}

TEST_F(JobForecastTest, OwnUnitsGiveARateOnceThereAreEnough) {
  JobSpec spec = SpecThatNeeds(kMiB);
  Run(spec, "");
  job_.attempts[0].progress.units = 7;
  EXPECT_EQ(Forecast().text, "no profile, and only 7 units so far");
  job_.attempts[0].progress = {
      .units = 1'000, .unit_cpu_ns = 1'000 * 2 * kMs, .unit_estimate_ns = 2 * kMs};
  EXPECT_DOUBLE_EQ(Forecast().rate.mid, 50 * 15.0 / 16);
  EXPECT_FALSE(Forecast().seconds_left.has_value());
  EXPECT_EQ(Forecast().text, "from 1000 units so far, 1 bubbles of a/cpu0");
  spec.profile.samples_total = 1'500;  // units, where nothing else is known
  Run(spec, "");
  ASSERT_TRUE(Forecast().seconds_left.has_value());
  EXPECT_DOUBLE_EQ(Forecast().seconds_left->mid, 500 / Forecast().rate.mid);
}

TEST_F(JobForecastTest, OtherResidentsTakeTheirShare) {
  Run(*job_.spec, "small");
  const double alone = Forecast().rate.mid;
  Node node = Get();
  node.devices[0].resident = 2;
  Set(node);
  EXPECT_NEAR(Forecast().rate.mid, alone / 2, alone / 50);
  EXPECT_EQ(Forecast().text,
            "from its profile, 1 bubbles of a/cpu0, beside 1 other(s) taken to be alike");
}

TEST_F(JobForecastTest, HoldOutsAreThoseOfTheAgentOnceItHasSome) {
  Node node = Get();
  FillControl& control = node.devices[0].main_rank->control.emplace();
  control.hold_outs = control.filled = 100;
  Set(node);
  EXPECT_DOUBLE_EQ(Forecast().rate.mid, 50);
}

TEST_F(JobForecastTest, SaysWhyTheChosenConfigurationDoesNotFitAnyMore) {
  Node node = Get();
  node.bubbles[0].p10_ns = node.bubbles[0].p50_ns = node.bubbles[0].p90_ns = 5 * kMs;
  Set(node);
  EXPECT_EQ(Forecast().text,
            "large: node 0 takes 9ms, longer than every bubble with the memory for it (the longest "
            "has 4.98ms)");
  EXPECT_EQ(Forecast().rate.mid, 0);
}

TEST_F(JobForecastTest, JobsThatDoNotRunHaveNone) {
  for (const JobPhase phase : {JobPhase::kPending, JobPhase::kStopping, JobPhase::kSucceeded}) {
    job_.phase = phase;
    EXPECT_FALSE(ForecastJob(job_, nodes_).has_value());
  }
}

TEST_F(JobForecastTest, NamesTheJobThatItsProfileIsFrom) {
  job_.profile.source = "learned by job 12";
  EXPECT_EQ(Forecast().text, "from its profile, learned by job 12, 1 bubbles of a/cpu0");
}

TEST_F(JobForecastTest, RoomIsThatOfTheOfferedBubblesOfTheDevice) {
  Node node = Get();
  BubbleStats bubble = node.bubbles[0];
  bubble.unit_ns = {kMs, 2 * kMs, 4 * kMs};
  bubble.latest_start_ns = {3 * kMs, 0, -1};
  bubble.memory_free_bytes = 50;
  node.bubbles = {bubble, bubble};
  node.bubbles[1].latest_start_ns = {3 * kMs, -1, -1};
  node.bubbles[1].memory_free_bytes = 0;  // the main job does not say
  node.bubbles.push_back(bubble);
  node.bubbles[2].offer = BubbleOffer::kUncertain;
  node.bubbles[2].latest_start_ns = {kMs, kMs, kMs};
  EXPECT_EQ(RoomOf(node, kDevice), (BubbleRoom{2 * kMs, 50, INT64_MAX}));
  EXPECT_FALSE(RoomOf(node, {"a", "cpu1"}).has_value());
}

TEST_F(JobForecastTest, NeedsAreThoseOfMeasuredProfilesOfThisContent) {
  Configuration two = UnitsOf(kMs, "two", 1);
  two.resident_bytes = 10;
  two.chain.push_back({.time_ns = kMs, .time_p90_ns = 3 * kMs, .memory_bytes = 5});
  FillProfile known;
  known.configurations = {two};
  JobProfile profile{.profile = std::make_shared<const FillProfile>(known)};
  ASSERT_NE(NeedsOf(profile), nullptr);
  EXPECT_EQ(*NeedsOf(profile), (std::vector<UnitNeed>{{3 * kMs, 10, 15}}));
  profile.is_learned = true;
  EXPECT_EQ(NeedsOf(profile), nullptr);
  profile.is_learned = profile.is_of_this_content = false;
  EXPECT_EQ(NeedsOf(profile), nullptr);
  EXPECT_EQ(NeedsOf(JobProfile()), nullptr);
}

TEST_F(JobForecastTest, CalendarKeepsToTheCapAndToWhatTheMainJobLeaves) {
  EXPECT_EQ(CalendarOf(nodes_, kDevice, 77)->bubbles[0].memory_free_bytes, 77);
  Node node = Get();
  node.bubbles[0].memory_free_bytes = 50;
  node.bubbles[0].earliest_start_ns = kMs;
  node.bubbles[0].unit_ns = {kMs, 2 * kMs};
  node.bubbles[0].latest_start_ns = {3 * kMs, -1};
  Set(node);
  const std::optional<Calendar> calendar = CalendarOf(nodes_, kDevice, 77);
  EXPECT_EQ(calendar->bubbles[0].memory_free_bytes, 50);
  EXPECT_EQ(calendar->bubbles[0].earliest_start_ns, kMs);
  EXPECT_EQ(calendar->bubbles[0].name, "middle 0");
  EXPECT_EQ(calendar->bubbles[0].start_limits,
            (std::vector<StartLimit>{{kMs, 3 * kMs}, {2 * kMs, -1}}));
}

}  // namespace
}  // namespace pipefill::scheduler
