#include "planner/execution_plan.h"

#include <gtest/gtest.h>

#include <random>

namespace pipefill {
namespace {

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kMiB = 1 << 20;

Configuration ChainOf(std::vector<ProfileNode> chain, std::string name = "c") {
  Configuration configuration;
  configuration.name = std::move(name);
  configuration.chain = std::move(chain);
  return configuration;
}

Cycle CycleOfWindows(std::vector<Window> windows, int64_t iteration_ns = 100 * kMs) {
  return {.windows = std::move(windows), .iteration_ns = iteration_ns};
}

CalendarBubble BubbleOf(int64_t length_ns, int64_t memory_free_bytes = 1024 * kMiB) {
  return {.name = "b",
          .p10_ns = length_ns,
          .p50_ns = length_ns,
          .p90_ns = length_ns,
          .memory_free_bytes = memory_free_bytes,
          .start_limits = {}};
}

Calendar CalendarOf(std::vector<CalendarBubble> bubbles) {
  return {.bubbles = std::move(bubbles), .iteration_ns = 100 * kMs, .hand_over_ns = 0};
}

TEST(ConfigurationPlanTest, RateIsSamplesPerTimeOfTheCyclesTaken) {
  Configuration configuration = ChainOf({{.time_ns = 3 * kMs}, {.time_ns = 2 * kMs}});
  configuration.samples_per_pass = 8;
  // One pass a cycle: 3 | 2.
  const ConfigurationPlan plan = PlanConfiguration(
      configuration, CycleOfWindows({{.length_ns = 4 * kMs}, {.length_ns = 2 * kMs}}), {});
  ASSERT_TRUE(plan.is_feasible());
  EXPECT_DOUBLE_EQ(plan.samples_per_s, 80);
  EXPECT_DOUBLE_EQ(plan.used_share, 5.0 / 6);
  EXPECT_EQ(plan.error_share, 0);
}

TEST(ConfigurationPlanTest, ChainLongerThanACycleGoesOnInTheNext) {
  // 3 a cycle, 7 a pass: comes back after 7 cycles.
  const Configuration configuration = ChainOf({{.time_ns = kMs, .repeats = 7}});
  const ConfigurationPlan plan =
      PlanConfiguration(configuration, CycleOfWindows({{.length_ns = 3 * kMs}}), {});
  EXPECT_EQ(plan.cycles, 7);
  EXPECT_EQ(plan.units, 21);
  EXPECT_DOUBLE_EQ(plan.samples_per_s, 30.0 / 7);
}

TEST(ConfigurationPlanTest, HoldOutsLowerTheRate) {
  const Configuration configuration = ChainOf({{.time_ns = kMs}});
  Cycle cycle = CycleOfWindows({{.length_ns = 3 * kMs}});
  cycle.filled_share = 0.5;
  EXPECT_DOUBLE_EQ(PlanConfiguration(configuration, cycle, {}).samples_per_s, 15);
}

TEST(ConfigurationPlanTest, NamesTheNodeThatIsLongerThanEveryBubble) {
  const Configuration configuration = ChainOf({{.time_ns = kMs}, {.time_ns = 12 * kMs}});
  const ConfigurationPlan plan = PlanConfiguration(
      configuration, CycleOfWindows({{.length_ns = 3 * kMs}, {.length_ns = 5 * kMs}}), {});
  ASSERT_FALSE(plan.is_feasible());
  EXPECT_EQ(
      Explain(*plan.infeasibility),
      "node 1 takes 12ms, longer than every bubble with the memory for it (the longest has 5ms)");
  EXPECT_EQ(plan.samples_per_s, 0);
}

TEST(ConfigurationPlanTest, NamesTheMemoryThatNoLongBubbleHas) {
  Configuration configuration = ChainOf({{.time_ns = 4 * kMs, .memory_bytes = 100 * kMiB}});
  configuration.resident_bytes = 20 * kMiB;
  const ConfigurationPlan plan =
      PlanConfiguration(configuration,
                        CycleOfWindows({{.length_ns = 3 * kMs, .memory_free_bytes = 500 * kMiB},
                                        {.length_ns = 5 * kMs, .memory_free_bytes = 64 * kMiB}}),
                        {});
  ASSERT_FALSE(plan.is_feasible());
  EXPECT_EQ(Explain(*plan.infeasibility),
            "node 0 needs 120 MiB; bubbles that are long enough have at most 64 MiB");
}

TEST(ConfigurationPlanTest, WhatStaysMustFitEveryBubble) {
  Configuration configuration = ChainOf({{.time_ns = kMs}});
  configuration.resident_bytes = 65 * kMiB;
  const ConfigurationPlan plan =
      PlanConfiguration(configuration,
                        CycleOfWindows({{.length_ns = 3 * kMs, .memory_free_bytes = 500 * kMiB},
                                        {.length_ns = 5 * kMs, .memory_free_bytes = 64 * kMiB}}),
                        {});
  ASSERT_FALSE(plan.is_feasible());
  EXPECT_EQ(Explain(*plan.infeasibility),
            "it holds 65 MiB all the time; 64 MiB are free in every bubble");
}

TEST(ConfigurationPlanTest, NeedsAWindow) {
  const Configuration configuration = ChainOf({{.time_ns = kMs}});
  for (const Cycle& cycle : {CycleOfWindows({}), CycleOfWindows({{.length_ns = 0}})}) {
    const ConfigurationPlan plan = PlanConfiguration(configuration, cycle, {});
    ASSERT_FALSE(plan.is_feasible());
    EXPECT_EQ(plan.infeasibility->obstacle, Obstacle::kNoWindow);
  }
}

Configuration DrawChain(std::mt19937& random, int nodes_max) {
  std::uniform_int_distribution<int> count(1, nodes_max);
  std::uniform_int_distribution<int> time(1, 30);
  std::vector<ProfileNode> chain(static_cast<size_t>(count(random)));
  for (ProfileNode& node : chain) node.time_ns = time(random);
  return ChainOf(std::move(chain));
}

Cycle DrawCycle(std::mt19937& random) {
  std::uniform_int_distribution<int> count(1, 5);
  std::uniform_int_distribution<int> length(0, 120);
  std::vector<Window> windows(static_cast<size_t>(count(random)));
  for (Window& window : windows) window.length_ns = length(random);
  windows[0].length_ns += 30;  // the longest node fits
  return CycleOfWindows(std::move(windows), 1000);
}

// Units per cycle, by packing one cycle after the other.
double UnitsPerCycle(const Configuration& configuration, const Cycle& cycle, int cycles) {
  ChainPacker packer(configuration, NodeTime::kMean);
  for (int i = 0; i < cycles; ++i) {
    for (const Window& window : cycle.windows) packer.Pack(window);
  }
  return static_cast<double>(packer.units()) / cycles;
}

TEST(ConfigurationPlanTest, SteadyRateIsTheLimitOfPackingOn) {
  std::mt19937 random(2);
  for (int i = 0; i < 500; ++i) {
    const Configuration configuration = DrawChain(random, 12);
    const Cycle cycle = DrawCycle(random);
    const ConfigurationPlan plan = PlanConfiguration(configuration, cycle, {});
    ASSERT_TRUE(plan.is_feasible());
    ASSERT_EQ(plan.error_share, 0);
    constexpr int kCycles = 2000;
    const double expected = UnitsPerCycle(configuration, cycle, kCycles);
    const double rate = static_cast<double>(plan.units) / static_cast<double>(plan.cycles);
    ASSERT_NEAR(rate, expected, static_cast<double>(configuration.units_per_pass()) / kCycles);
  }
}

TEST(ConfigurationPlanTest, SaysHowFarAnEarlyEndIsOff) {
  std::mt19937 random(3);
  int early = 0;
  for (int i = 0; i < 500; ++i) {
    const Configuration configuration = DrawChain(random, 200);
    const Cycle cycle = DrawCycle(random);
    const double exact = PlanConfiguration(configuration, cycle, {}).samples_per_s;
    const ConfigurationPlan plan = PlanConfiguration(configuration, cycle, {.steps_max = 500});
    if (plan.error_share > 0) ++early;
    ASSERT_LE(std::abs(plan.samples_per_s - exact), plan.error_share * plan.samples_per_s + 1e-9);
  }
  EXPECT_GT(early, 50);
}

TEST(ConfigurationPlanTest, NeverUsesMoreThanIsOffered) {
  std::mt19937 random(4);
  for (int i = 0; i < 500; ++i) {
    const Configuration configuration = DrawChain(random, 20);
    const Cycle cycle = DrawCycle(random);
    const ConfigurationPlan plan = PlanConfiguration(configuration, cycle, {});
    double pass_ns = 0;
    for (const ProfileNode& node : configuration.chain) {
      pass_ns += static_cast<double>(node.time_ns);
    }
    const double offered_share = static_cast<double>(cycle.window_total_ns()) / 1000;
    ASSERT_LE(plan.samples_per_s * pass_ns * 1e-9, offered_share + 1e-12);
    ASSERT_LE(plan.used_share, 1.0);
    // A window loses at most one node.
    ASSERT_GE(plan.used_share * static_cast<double>(cycle.window_total_ns()),
              static_cast<double>(cycle.window_total_ns()) - 30.0 * 5);
  }
}

TEST(ConfigurationPlanTest, MoreTimeMemoryOrShorterNodesNeverLowerTheRate) {
  std::mt19937 random(5);
  for (int i = 0; i < 500; ++i) {
    Configuration configuration = DrawChain(random, 20);
    for (ProfileNode& node : configuration.chain) node.memory_bytes = node.time_ns % 3;
    Cycle cycle = DrawCycle(random);
    for (Window& window : cycle.windows) window.memory_free_bytes = window.length_ns % 4;
    cycle.windows[0].memory_free_bytes = 4;
    const double before = PlanConfiguration(configuration, cycle, {}).samples_per_s;

    Cycle longer = cycle;
    longer.windows.back().length_ns += 7;
    ASSERT_GE(PlanConfiguration(configuration, longer, {}).samples_per_s, before - 1e-9);
    Cycle roomier = cycle;
    roomier.windows.back().memory_free_bytes += 1;
    ASSERT_GE(PlanConfiguration(configuration, roomier, {}).samples_per_s, before - 1e-9);
    Configuration shorter = configuration;
    shorter.chain[0].time_ns = std::max<int64_t>(1, shorter.chain[0].time_ns - 5);
    ASSERT_GE(PlanConfiguration(shorter, cycle, {}).samples_per_s, before - 1e-9);
  }
}

TEST(ExecutionPlanTest, TakesTheConfigurationWithMostSamples) {
  // Large batches are cheaper per sample, but lose more at the ends of bubbles.
  FillProfile profile;
  for (const auto& [samples, time_ns] : {std::pair<int, int64_t>{1, 2 * kMs}, {4, 5 * kMs}}) {
    profile.configurations.push_back(
        ChainOf({{.time_ns = time_ns}}, "n" + std::to_string(samples)));
    profile.configurations.back().samples_per_pass = samples;
  }
  EXPECT_EQ(PlanExecution(profile, CalendarOf({BubbleOf(20 * kMs)}), {}).best, 1U);
  EXPECT_EQ(PlanExecution(profile, CalendarOf({BubbleOf(4 * kMs)}), {}).best, 0U);
}

TEST(ExecutionPlanTest, SavesMemoryWhereThereIsLittle) {
  FillProfile profile;
  profile.configurations.push_back(
      ChainOf({{.time_ns = 2 * kMs, .memory_bytes = 200 * kMiB}}, "plain"));
  profile.configurations.push_back(
      ChainOf({{.time_ns = 3 * kMs, .memory_bytes = 50 * kMiB}}, "checkpointing"));
  EXPECT_EQ(PlanExecution(profile, CalendarOf({BubbleOf(20 * kMs, 300 * kMiB)}), {}).best, 0U);
  EXPECT_EQ(PlanExecution(profile, CalendarOf({BubbleOf(20 * kMs, 100 * kMiB)}), {}).best, 1U);
}

TEST(ExecutionPlanTest, FirstOfEqualOnesWins) {
  FillProfile profile;
  profile.configurations = {ChainOf({{.time_ns = kMs}}, "a"), ChainOf({{.time_ns = kMs}}, "b")};
  EXPECT_EQ(PlanExecution(profile, CalendarOf({BubbleOf(20 * kMs)}), {}).best, 0U);
}

TEST(ExecutionPlanTest, ExplainsTheOneThatCameClosest) {
  FillProfile profile;
  profile.configurations = {ChainOf({{.time_ns = 50 * kMs}}, "large"),
                            ChainOf({{.time_ns = 6 * kMs}}, "small")};
  const ExecutionPlan plan = PlanExecution(profile, CalendarOf({BubbleOf(5 * kMs)}), {});
  ASSERT_FALSE(plan.best.has_value());
  EXPECT_EQ(ExplainInfeasible(profile, plan),
            "small: node 0 takes 6ms, longer than every bubble with the memory for it (the longest "
            "has 5ms)");
}

}  // namespace
}  // namespace pipefill
