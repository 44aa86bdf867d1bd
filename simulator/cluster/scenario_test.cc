#include "simulator/cluster/scenario.h"

#include <gtest/gtest.h>

#include <string>

namespace pipefill::simulator {
namespace {

constexpr int64_t kGiB = int64_t{1} << 30;

v1::Scenario WithTwoConfigurations() {
  v1::Scenario scenario;
  scenario.mutable_training()->set_pipeline("4x4@gpipe");
  scenario.mutable_training()->set_forward("20ms");
  scenario.mutable_training()->set_memory_free("3GiB");
  v1::JobClassScenario& job_class = *scenario.mutable_workload()->add_classes();
  job_class.set_name("train");
  v1::ConfigurationScenario& large = *job_class.add_configurations();
  large.set_name("batch32");
  large.set_unit("8ms");
  large.set_samples(32);
  large.set_resident("1GiB");
  large.set_unit_memory("4GiB");
  v1::ConfigurationScenario& small = *job_class.add_configurations();
  small.set_name("batch1");
  small.set_unit("1ms");
  small.set_resident("1GiB");
  return scenario;
}

TEST(ScenarioTest, JobsAskForWhatDevicesHaveAndTheyCanUse) {
  v1::Scenario scenario = WithTwoConfigurations();
  const auto bytes_with = [&](const std::string& memory_free) {
    scenario.mutable_training()->set_memory_free(memory_free);
    return RunOf(scenario).value().workload.classes[0].memory_bytes;
  };
  EXPECT_EQ(bytes_with("3GiB"), 3 * kGiB);
  EXPECT_EQ(bytes_with("80GiB"), 5 * kGiB) << "as much as the largest configuration needs";
  EXPECT_EQ(bytes_with("100MiB"), kGiB) << "without it the job cannot run, and it waits";
}

TEST(ScenarioTest, ConfigurationsKeepTheirOrderAndSamples) {
  const ClusterRun run = RunOf(WithTwoConfigurations()).value();
  const auto& configurations = run.workload.classes[0].profile.configurations;
  ASSERT_EQ(configurations.size(), 2U);
  EXPECT_EQ(configurations[0].name, "batch32");
  EXPECT_EQ(configurations[0].samples_per_pass, 32);
  EXPECT_EQ(configurations[1].samples_per_pass, 1);
}

TEST(ScenarioTest, BadConfigurationsAreNamed) {
  v1::Scenario scenario = WithTwoConfigurations();
  scenario.mutable_workload()->mutable_classes(0)->mutable_configurations(1)->clear_unit();
  EXPECT_EQ(RunOf(scenario).status().message().substr(0, 40),
            "job class train: configuration batch1: u");
  scenario = WithTwoConfigurations();
  scenario.mutable_workload()->mutable_classes(0)->set_unit("1ms");
  EXPECT_EQ(RunOf(scenario).status().message(),
            "job class train: unit, resident and unit_memory belong into its configurations, not "
            "beside them");
}

}  // namespace
}  // namespace pipefill::simulator
