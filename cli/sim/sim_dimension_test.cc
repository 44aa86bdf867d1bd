#include "cli/sim/sim_dimension.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cli/sim/testing/made_up_outcomes.h"

namespace pipefill {
namespace {

using Indices = std::vector<size_t>;

SimSweep Sweep(const std::string& field, const std::vector<std::string>& values) {
  SimSweep sweep{.fields = {field}, .values = {}};
  for (const std::string& value : values) sweep.values.push_back({value});
  return sweep;
}

Dimension Only(const SimSweep& sweep) {
  const std::vector<Dimension> dimensions = DimensionsOf({sweep}, MadeUpOutcomes({sweep}));
  EXPECT_EQ(dimensions.size(), 1U);
  return dimensions.front();
}

TEST(SimDimensionTest, NumbersHaveTheUnitOfTheirTitle) {
  const Dimension memory = Only(Sweep("training.memory_free", {"1GiB", "512MiB"}));
  EXPECT_EQ(memory.kind, DimensionKind::kNumber);
  EXPECT_EQ(memory.title, "free memory of a device, GiB");
  EXPECT_EQ(memory.numbers, (std::vector<double>{1, 0.5}));
  EXPECT_EQ(Only(Sweep("training.forward", {"2ms", "1s"})).numbers, (std::vector<double>{2, 1000}));
  EXPECT_EQ(Only(Sweep("workload.jobs_at_start", {"10", "1000"})).title, "jobs at the start");
}

TEST(SimDimensionTest, WordsAndPoliciesAreNoNumbers) {
  EXPECT_EQ(Only(Sweep("policy", {"fifo", "sjf"})).kind, DimensionKind::kPolicy);
  EXPECT_EQ(Only(Sweep("training.pipeline", {"4x4@gpipe", "4x4@1f1b"})).kind, DimensionKind::kWord);
  EXPECT_EQ(Only(Sweep("training.memory_free", {"1GiB", "2ms"})).kind, DimensionKind::kWord)
      << "two units are no axis";
}

TEST(SimDimensionTest, WhereTheDevicesChangeTheyAreTheAxis) {
  const SimSweep sweep = {.fields = {"training.pipeline", "training.replicas"},
                          .values = {{"4x8@gpipe", "1"}, {"4x4@gpipe", "2"}}};
  std::vector<SimOutcome> outcomes = MadeUpOutcomes({sweep});
  outcomes[1].result.devices = 128;
  const std::vector<Dimension> dimensions = DimensionsOf({sweep}, outcomes);
  EXPECT_EQ(dimensions[0].kind, DimensionKind::kSize);
  EXPECT_EQ(dimensions[0].numbers, (std::vector<double>{64, 128}));
  EXPECT_EQ(dimensions[0].labels[1], "128 devices");
  outcomes = MadeUpOutcomes({{sweep.fields, {{"a", "1"}, {"b", "1"}, {"c", "2"}}}});
  outcomes[2].result.devices = 128;
  const SimSweep twice = {sweep.fields, {{"a", "1"}, {"b", "1"}, {"c", "2"}}};
  EXPECT_EQ(DimensionsOf({twice}, outcomes)[0].labels[1], "b 1") << "64 devices are there twice";
}

TEST(SimDimensionTest, SizesThatDependOnTwoSweepsNameNoValue) {
  const std::vector<SimSweep> sweeps = {Sweep("training.pipeline", {"4x4@gpipe", "8x4@gpipe"}),
                                        Sweep("training.replicas", {"1", "3"})};
  std::vector<SimOutcome> outcomes = MadeUpOutcomes(sweeps);
  const int devices[] = {4, 12, 8, 24};
  for (size_t i = 0; i < outcomes.size(); ++i) outcomes[i].result.devices = devices[i];
  const std::vector<Dimension> dimensions = DimensionsOf(sweeps, outcomes);
  EXPECT_EQ(dimensions[0].kind, DimensionKind::kSize);
  EXPECT_EQ(RunName(dimensions, 3), "8x4@gpipe, replicas 3");
}

TEST(SimDimensionTest, SeriesAreRunsThatDifferInOneThingOnly) {
  const std::vector<SimSweep> sweeps = {Sweep("policy", {"fifo", "sjf"}), Sweep("seed", {"1"}),
                                        Sweep("workload.jobs_at_start", {"10", "20", "30"})};
  const std::vector<Dimension> dimensions = DimensionsOf(sweeps, MadeUpOutcomes(sweeps));
  ASSERT_EQ(dimensions.size(), 2U) << "one value is no dimension";
  const std::vector<RunSeries> by_load = SeriesAlong(dimensions, 1);
  ASSERT_EQ(by_load.size(), 2U);
  EXPECT_EQ(by_load[1].name, "sjf");
  EXPECT_EQ(by_load[1].runs, (Indices{3, 4, 5}));
  const std::vector<RunSeries> by_policy = SeriesAlong(dimensions, 0);
  ASSERT_EQ(by_policy.size(), 3U);
  EXPECT_EQ(by_policy[2].name, "jobs at start 30");
  EXPECT_EQ(by_policy[2].runs, (Indices{2, 5}));
  EXPECT_EQ(RunName(dimensions, 4), "sjf, jobs at start 20");
}

TEST(SimDimensionTest, OneRunHasNoNameAndNoDimension) {
  EXPECT_TRUE(DimensionsOf({}, MadeUpOutcomes({})).empty());
  EXPECT_EQ(RunName({}, 0), "");
}

}  // namespace
}  // namespace pipefill
