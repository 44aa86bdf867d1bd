#include "cli/plan/fill_forecast.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/match.h"

namespace pipefill {
namespace {

// One device that is idle for the first `idle_ns` of 100 ms, and one that never is.
IdlePlan Plan(int64_t idle_ns) {
  IdlePlan plan;
  plan.iteration_ns = 100'000'000;
  for (int stage = 0; stage < 2; ++stage) {
    PlanDevice device;
    device.name = "stage " + std::to_string(stage);
    device.stage = stage;
    device.iteration_ns = 100'000'000;
    plan.devices.push_back(device);
  }
  plan.devices[0].bubbles.push_back({.bubble_class = BubbleClass::kHead,
                                     .mean_ns = idle_ns,
                                     .p10_ns = idle_ns,
                                     .p50_ns = idle_ns,
                                     .p90_ns = idle_ns,
                                     .memory_free_bytes = 1000});
  return plan;
}

FillQuestion Question(int64_t unit_ns) {
  FillQuestion question;
  question.job = "embed";
  Configuration configuration;
  configuration.name = "plain";
  configuration.samples_per_pass = 4;
  configuration.chain = {{.time_ns = unit_ns, .memory_bytes = 500}};
  question.profile.configurations = {configuration};
  question.profile.samples_total = 1'000'000;
  return question;
}

TEST(FillForecastTest, CountsWholeUnitsInEveryFilledIteration) {
  // 10 units of 2 ms fit 20 ms less 20 us only nine times.
  const FillForecast forecast = ForecastFill(Question(2'000'000), Plan(20'000'000)).value();
  const double expected = 9 * 4 / 0.1 * kPlannedFilledShare;
  ASSERT_TRUE(forecast.best.has_value());
  EXPECT_EQ(*forecast.best, 0u);
  EXPECT_NEAR(forecast.devices[0].rate->samples_per_s.mid, expected, 1e-9);
  EXPECT_NEAR(forecast.total_samples_per_s, expected, 1e-9);
  // Alone it does 2000 samples a second.
  EXPECT_NEAR(forecast.worth_devices, expected / 2000, 1e-12);
  ASSERT_TRUE(forecast.seconds_left.has_value());
  EXPECT_NEAR(forecast.seconds_left->mid, 1e6 / expected, 1e-6);
}

TEST(FillForecastTest, SaysWhyADeviceGivesNothing) {
  const FillForecast forecast = ForecastFill(Question(30'000'000), Plan(20'000'000)).value();
  EXPECT_FALSE(forecast.best.has_value());
  EXPECT_TRUE(absl::StrContains(forecast.devices[0].why, "longer than every bubble"))
      << forecast.devices[0].why;
  EXPECT_EQ(forecast.devices[1].why, "nothing is idle");
  EXPECT_FALSE(forecast.seconds_left.has_value());
}

TEST(FillForecastTest, FreeMemoryAndTheJobsOwnCapBothCount) {
  FillQuestion question = Question(2'000'000);
  question.memory_max_bytes = 400;
  EXPECT_FALSE(ForecastFill(question, Plan(20'000'000)).value().best.has_value());
  question = Question(2'000'000);
  question.profile.configurations[0].chain[0].memory_bytes = 1001;
  EXPECT_FALSE(ForecastFill(question, Plan(20'000'000)).value().best.has_value());
}

TEST(FillForecastTest, AJobThatSaysNothingOfItsUnitsIsRefused) {
  FillQuestion question = Question(2'000'000);
  question.profile.configurations.clear();
  const auto forecast = ForecastFill(question, Plan(20'000'000));
  EXPECT_EQ(forecast.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(absl::StrContains(forecast.status().message(), "pipefill profile -o FILE"));
  question = Question(-1);
  EXPECT_EQ(ForecastFill(question, Plan(20'000'000)).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace pipefill
