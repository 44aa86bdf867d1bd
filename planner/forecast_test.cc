#include "planner/forecast.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace pipefill {
namespace {

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kMiB = 1 << 20;

Configuration UnitsOf(int64_t time_ns, std::string name = "c") {
  Configuration configuration;
  configuration.name = std::move(name);
  configuration.chain = {{.time_ns = time_ns}};
  return configuration;
}

Calendar OneBubble(int64_t p10_ns, int64_t p50_ns, int64_t p90_ns) {
  return {.bubbles = {{.name = "middle 0",
                       .p10_ns = p10_ns,
                       .p50_ns = p50_ns,
                       .p90_ns = p90_ns,
                       .memory_free_bytes = 100 * kMiB,
                       .start_limits = {}}},
          .iteration_ns = 100 * kMs,
          .hand_over_ns = 0};
}

TEST(ForecastTest, WeighsShortMedianAndLongBubbles) {
  const FillProfile profile = {.configurations = {UnitsOf(kMs)}};
  const auto forecast = ForecastRate(profile, OneBubble(2 * kMs, 5 * kMs, 10 * kMs), {});
  ASSERT_TRUE(forecast.has_value());
  EXPECT_DOUBLE_EQ(forecast->samples_per_s.low, 20);
  EXPECT_DOUBLE_EQ(forecast->samples_per_s.mid, 0.3 * 20 + 0.4 * 50 + 0.3 * 100);
  EXPECT_DOUBLE_EQ(forecast->samples_per_s.high, 100);
}

TEST(ForecastTest, IntervalIsInOrder) {
  std::mt19937 random(1);
  std::uniform_int_distribution<int64_t> time(kMs / 5, 4 * kMs);
  for (int i = 0; i < 200; ++i) {
    Configuration configuration = UnitsOf(time(random));
    configuration.chain[0].time_p90_ns = time(random);
    configuration.chain.push_back({.time_ns = time(random)});
    const Configuration neighbour = UnitsOf(time(random));
    const int64_t p10_ns = time(random);
    const int64_t p50_ns = p10_ns + 2 * time(random);
    const Calendar calendar = OneBubble(p10_ns, p50_ns, p50_ns + time(random));
    ForecastOptions options;
    if (i % 2 == 1) options.neighbours = {&neighbour};
    const auto rate = ForecastConfiguration(configuration, calendar, options);
    if (!rate.has_value()) continue;
    ASSERT_LE(rate->low, rate->mid);
    ASSERT_LE(rate->mid, rate->high);
  }
}

TEST(ForecastTest, NeighbourTakesItsShareAndItsMemory) {
  const Configuration own = UnitsOf(kMs);
  Configuration neighbour = UnitsOf(kMs);
  const Calendar calendar = OneBubble(10 * kMs, 10 * kMs, 10 * kMs);
  EXPECT_DOUBLE_EQ(ForecastConfiguration(own, calendar, {})->mid, 100);
  EXPECT_DOUBLE_EQ(ForecastConfiguration(own, calendar, {.neighbours = {&neighbour}})->mid, 50);
  neighbour.resident_bytes = 60 * kMiB;
  FillProfile profile = {.configurations = {own}};
  profile.configurations[0].resident_bytes = 50 * kMiB;
  std::string why;
  EXPECT_FALSE(ForecastRate(profile, calendar, {.neighbours = {&neighbour}}, &why).has_value());
  EXPECT_EQ(why, "c: it holds 50 MiB all the time; 40 MiB are free in every bubble");
}

TEST(ForecastTest, JobsOwnCapHolds) {
  FillProfile profile = {.configurations = {UnitsOf(kMs, "large"), UnitsOf(2 * kMs, "small")}};
  profile.configurations[0].resident_bytes = 80 * kMiB;
  const Calendar calendar = OneBubble(10 * kMs, 10 * kMs, 10 * kMs);
  EXPECT_EQ(ForecastRate(profile, calendar, {})->configuration, 0U);
  EXPECT_EQ(ForecastRate(profile, calendar, {.memory_max_bytes = 70 * kMiB})->configuration, 1U);
}

TEST(ForecastTest, SaysWhyNothingRuns) {
  const FillProfile profile = {.configurations = {UnitsOf(12 * kMs)}};
  std::string why;
  EXPECT_FALSE(ForecastRate(profile, OneBubble(kMs, kMs, kMs), {}, &why).has_value());
  EXPECT_NE(why.find("node 0 takes 12ms"), std::string::npos);
}

TEST(SecondsLeftTest, SoonestIsTheHighestRate) {
  const Interval left = SecondsLeft(100, {.low = 0, .mid = 10, .high = 50});
  EXPECT_EQ(left.low, 2);
  EXPECT_EQ(left.mid, 10);
  EXPECT_TRUE(std::isinf(left.high));
  EXPECT_EQ(SecondsLeft(-3, {.low = 0, .mid = 1, .high = 1}).high, 0);
}

}  // namespace
}  // namespace pipefill
