#include "planner/profile.h"

#include <gtest/gtest.h>

namespace pipefill {
namespace {

FillProfile OneNode() {
  Configuration configuration;
  configuration.name = "batch8";
  configuration.chain = {{.time_ns = 1'000'000}};
  return {.configurations = {configuration}, .samples_total = 100};
}

std::string Complaint(const FillProfile& profile) {
  const absl::Status status = CheckProfile(profile);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

TEST(ProfileTest, AcceptsWhatIsWhole) {
  EXPECT_TRUE(CheckProfile(OneNode()).ok());
  EXPECT_TRUE(CheckProfile({}).ok());
  EXPECT_TRUE(CheckProfile({.configurations = {}, .samples_total = 5}).ok());
}

TEST(ProfileTest, NamesTheFieldThatIsWrong) {
  FillProfile profile = OneNode();
  profile.configurations[0].chain.push_back({.time_ns = 0});
  EXPECT_EQ(Complaint(profile),
            "profile.configurations[0].nodes[1].time_ns: 0 is not in 1..3600000000000");
  profile = OneNode();
  profile.configurations[0].chain[0].memory_bytes = -1;
  EXPECT_NE(Complaint(profile).find("nodes[0].memory_bytes: -1"), std::string::npos);
  profile = OneNode();
  profile.configurations[0].chain[0].repeats = kRepeatsMax + 1;
  EXPECT_NE(Complaint(profile).find("nodes[0].repeats"), std::string::npos);
  profile = OneNode();
  profile.samples_total = -1;
  EXPECT_NE(Complaint(profile).find("profile.samples_total: -1"), std::string::npos);
  profile = OneNode();
  profile.configurations[0].name = "a b";
  EXPECT_NE(Complaint(profile).find("\"a b\" is not 1..64 characters"), std::string::npos);
}

TEST(ProfileTest, RefusesEmptyChainsAndTwoOfOneName) {
  FillProfile profile = OneNode();
  profile.configurations[0].chain.clear();
  EXPECT_NE(Complaint(profile).find("nodes: is empty"), std::string::npos);
  profile = OneNode();
  profile.configurations.push_back(profile.configurations[0]);
  EXPECT_NE(Complaint(profile).find("configurations[1].name: \"batch8\" is there twice"),
            std::string::npos);
}

TEST(ProfileTest, RefusesMoreThanTheLimits) {
  FillProfile profile = OneNode();
  profile.configurations[0].chain.assign(kChainMax + 1, {.time_ns = 1});
  EXPECT_NE(Complaint(profile).find("100001 nodes, at most 100000"), std::string::npos);
  profile = OneNode();
  profile.configurations.resize(kConfigurationsMax + 1);
  EXPECT_NE(Complaint(profile).find("65 entries, at most 64"), std::string::npos);
  profile = OneNode();
  profile.configurations[0].chain = {{.time_ns = kNodeTimeMaxNs, .repeats = kRepeatsMax}};
  EXPECT_NE(Complaint(profile).find("longer than 36 years"), std::string::npos);
}

TEST(ProfileTest, CountsUnitsWithTheirRepeats) {
  Configuration configuration;
  configuration.chain = {{.time_ns = 1, .repeats = 3}, {.time_ns = 1}};
  EXPECT_EQ(configuration.units_per_pass(), 4);
}

TEST(ProfileTest, SlowedUnitsTakeThatMuchLonger) {
  Configuration configuration;
  configuration.chain = {{.time_ns = 100, .time_p90_ns = 120, .repeats = 3}, {.time_ns = 500}};
  EXPECT_DOUBLE_EQ(configuration.unit_mean_ns(), 200);
  const Configuration slowed = Slowed(configuration, 1.5);
  EXPECT_DOUBLE_EQ(slowed.unit_mean_ns(), 300);
  EXPECT_EQ(slowed.chain[0].high_ns(), 180);
  EXPECT_EQ(slowed.chain[1].time_p90_ns, 0);
  EXPECT_EQ(Slowed(configuration, 1e300).chain[0].time_ns, kNodeTimeMaxNs);
  EXPECT_EQ(Slowed(configuration, 1e-9).chain[0].time_ns, 1);
}

TEST(ProfileTest, LearnsTheMeanUnitAndTakesTheEstimateForTheLongOne) {
  const Configuration learned = LearnedConfiguration(4, 4'400'000, 1'300'000);
  ASSERT_EQ(learned.chain.size(), 1U);
  EXPECT_EQ(learned.chain[0].time_ns, 1'100'000);
  EXPECT_EQ(learned.chain[0].high_ns(), 1'300'000);
  EXPECT_TRUE(CheckProfile({.configurations = {LearnedConfiguration(9, 0, -5)}}).ok());
}

}  // namespace
}  // namespace pipefill
