#include "scheduler/core/work_left.h"

#include <gtest/gtest.h>

#include "scheduler/testing/builders.h"

namespace pipefill::scheduler {
namespace {

Job JobWith(FillProfile profile) {
  Job job;
  job.spec = std::make_shared<const JobSpec>(SpecThatNeeds(kMiB));
  job.profile.profile = std::make_shared<const FillProfile>(std::move(profile));
  return job;
}

// Units of that many ms, one per pass of so many samples.
Configuration Config(const std::string& name, int64_t unit_ms, int64_t samples) {
  Configuration configuration = LearnedConfiguration(1, unit_ms * 1'000'000, 0);
  configuration.name = name;
  configuration.samples_per_pass = samples;
  return configuration;
}

TEST(SecondsLeftTest, IsNotKnownWithoutProfileOrTotal) {
  EXPECT_EQ(SecondsLeft(JobWith({})), std::nullopt);
  EXPECT_EQ(SecondsLeft(JobWith({.configurations = {}, .samples_total = 10})), std::nullopt);
  EXPECT_EQ(SecondsLeft(JobWith({.configurations = {Config("a", 1, 1)}})), std::nullopt);
}

TEST(SecondsLeftTest, IsThatOfTheFastestConfigurationLessWhatIsDone) {
  Job job =
      JobWith({.configurations = {Config("a", 10, 1), Config("b", 20, 4)}, .samples_total = 1000});
  EXPECT_DOUBLE_EQ(*SecondsLeft(job), 5);
  job.attempts.resize(1);
  job.attempts[0].configuration = "b";
  job.attempts[0].progress.units = 50;
  EXPECT_DOUBLE_EQ(*SecondsLeft(job), 4);
  job.attempts[0].progress.units = 1'000'000;
  EXPECT_DOUBLE_EQ(*SecondsLeft(job), 0);
}

}  // namespace
}  // namespace pipefill::scheduler
