#include "planner/turns.h"

#include <gtest/gtest.h>

#include <random>

#include "planner/execution_plan.h"

namespace pipefill {
namespace {

constexpr int64_t kMs = 1'000'000;

Configuration UnitsOf(int64_t time_ns, int64_t repeats = 1) {
  Configuration configuration;
  configuration.name = "c";
  configuration.chain = {{.time_ns = time_ns, .repeats = repeats}};
  return configuration;
}

Cycle CycleOfWindows(std::vector<Window> windows) {
  return {.windows = std::move(windows), .iteration_ns = 100 * kMs};
}

TEST(TurnsTest, OneAloneGetsWhatThePlanSays) {
  std::mt19937 random(1);
  std::uniform_int_distribution<int64_t> time(kMs / 4, 2 * kMs);
  for (int i = 0; i < 50; ++i) {
    const Configuration configuration = UnitsOf(time(random), 3);
    const Cycle cycle = CycleOfWindows({{.length_ns = 3 * time(random)}, {.length_ns = 2 * kMs}});
    const double alone = PlanConfiguration(configuration, cycle, {}).samples_per_s;
    const auto rates = ShareCycle({{.configuration = &configuration, .cycle = cycle}}, {});
    ASSERT_NEAR(rates[0].samples_per_s, alone, alone / 100 + 0.01);
  }
}

TEST(TurnsTest, EqualsShareAlike) {
  const Configuration configuration = UnitsOf(kMs / 2);
  const Resident resident = {.configuration = &configuration,
                             .cycle = CycleOfWindows({{.length_ns = 10 * kMs}})};
  const auto rates = ShareCycle({resident, resident}, {});
  EXPECT_DOUBLE_EQ(rates[0].used_share, 0.5);
  EXPECT_DOUBLE_EQ(rates[1].used_share, 0.5);
  EXPECT_DOUBLE_EQ(rates[0].samples_per_s, 100);
}

TEST(TurnsTest, RestOfAWindowGoesToTheNextWhoseUnitFits) {
  const Configuration large = UnitsOf(6 * kMs);
  const Configuration small = UnitsOf(kMs);
  const Cycle cycle = CycleOfWindows({{.length_ns = 10 * kMs}});
  const auto rates = ShareCycle({{.configuration = &large, .cycle = cycle, .policy_rank = 0},
                                 {.configuration = &small, .cycle = cycle, .policy_rank = 1}},
                                {});
  EXPECT_DOUBLE_EQ(rates[0].used_share, 0.6);
  EXPECT_DOUBLE_EQ(rates[1].used_share, 0.4);
}

TEST(TurnsTest, LowerRankTakesWhatItCan) {
  const Configuration first = UnitsOf(kMs);
  const Configuration second = UnitsOf(kMs);
  const Cycle cycle = CycleOfWindows({{.length_ns = 10 * kMs}});
  const auto rates = ShareCycle({{.configuration = &first, .cycle = cycle, .policy_rank = 2},
                                 {.configuration = &second, .cycle = cycle, .policy_rank = 1}},
                                {});
  EXPECT_DOUBLE_EQ(rates[0].used_share, 0);
  EXPECT_DOUBLE_EQ(rates[1].used_share, 1);
}

TEST(TurnsTest, TogetherTheyUseNoMoreThanThereIs) {
  std::mt19937 random(2);
  std::uniform_int_distribution<int64_t> time(kMs / 10, 3 * kMs);
  for (int i = 0; i < 100; ++i) {
    const Configuration a = UnitsOf(time(random));
    const Configuration b = UnitsOf(time(random), 5);
    const Configuration c = UnitsOf(time(random));
    const Cycle cycle = CycleOfWindows({{.length_ns = time(random)}, {.length_ns = time(random)}});
    std::vector<Resident> residents;
    for (const Configuration* each : {&a, &b, &c}) {
      residents.push_back({.configuration = each, .cycle = cycle});
    }
    double used = 0;
    for (const ResidentRate& rate : ShareCycle(residents, {.cycles_max = 100})) {
      used += rate.used_share;
    }
    ASSERT_LE(used, 1.0 + 1e-12);
  }
}

TEST(TurnsTest, NobodyIsResident) { EXPECT_TRUE(ShareCycle({}, {}).empty()); }

}  // namespace
}  // namespace pipefill
