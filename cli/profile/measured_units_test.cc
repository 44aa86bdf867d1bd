#include "cli/profile/measured_units.h"

#include <gtest/gtest.h>

#include "common/config.h"

namespace pipefill {
namespace {

MeasuredUnits UnitsOf(uint32_t label, uint32_t size, int64_t count, int64_t mean_ns) {
  return {.label = label,
          .size = size,
          .count = count,
          .total_ns = count * mean_ns,
          .p50_ns = mean_ns,
          .p90_ns = mean_ns + 1,
          .max_ns = 2 * mean_ns};
}

TEST(MeasuredUnitsTest, ReadsWhatATaskWrites) {
  const auto units = ParseMeasuredUnits(
      "pipefill-units 1\n"
      "unit label=3 size=8 count=2 total_ns=30 p50_ns=10 p90_ns=20 max_ns=21\n");
  ASSERT_TRUE(units.ok()) << units.status();
  ASSERT_EQ(units->size(), 1U);
  EXPECT_EQ(units->front().label, 3U);
  EXPECT_EQ(units->front().size, 8U);
  EXPECT_EQ(units->front().mean_ns(), 15);
  EXPECT_EQ(units->front().p50_ns, 10);
  EXPECT_EQ(units->front().p90_ns, 20);
  EXPECT_EQ(units->front().max_ns, 21);
  EXPECT_TRUE(ParseMeasuredUnits("")->empty());
}

TEST(MeasuredUnitsTest, NamesTheLineThatIsNot) {
  for (const char* text :
       {"pipefill-units 2\n", "unit label=0\n", "pipefill-units 1\nunit label=0 size=1\n",
        "pipefill-units 1\nunit label=0 size=0 count=0 total_ns=0 p50_ns=0 p90_ns=0 max_ns=0\n",
        "pipefill-units 1\nunit label=-1 size=0 count=1 total_ns=0 p50_ns=0 p90_ns=0 max_ns=0\n"}) {
    const absl::Status status = ParseMeasuredUnits(text).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_EQ(status.message().substr(0, 5), "line ");
  }
}

TEST(ConfigurationsTest, KindsStandInProportion) {
  const auto configurations =
      ConfigurationsOf({.batch_size = 0,
                        .memory_peak_bytes = 77,
                        .units = {UnitsOf(0, 0, 6000, 1000), UnitsOf(1, 0, 30, 5000)}});
  ASSERT_EQ(configurations.size(), 1U);
  EXPECT_EQ(configurations[0].name(), "default");
  EXPECT_EQ(configurations[0].resident_bytes(), 77);
  ASSERT_EQ(configurations[0].nodes_size(), 2);
  EXPECT_EQ(configurations[0].nodes(0).repeats(), 200);
  EXPECT_EQ(configurations[0].nodes(0).time_ns(), 1000);
  EXPECT_EQ(configurations[0].nodes(0).time_p90_ns(), 1001);
  EXPECT_EQ(configurations[0].nodes(1).repeats(), 1);
  EXPECT_EQ(configurations[0].samples_per_pass(), 201);
}

TEST(ConfigurationsTest, BatchSizeCountsItsSamples) {
  const auto configurations = ConfigurationsOf(
      {.batch_size = 8, .memory_peak_bytes = 1, .units = {UnitsOf(0, 0, 10, 1000)}});
  ASSERT_EQ(configurations.size(), 1U);
  EXPECT_EQ(configurations[0].name(), "batch8");
  EXPECT_EQ(configurations[0].batch_size(), 8);
  EXPECT_EQ(configurations[0].samples_per_pass(), 8);
}

TEST(ConfigurationsTest, EachElasticSizeIsOneOfTheLabelWithMostUnits) {
  const MeasuredRun run = {
      .batch_size = 0,
      .memory_peak_bytes = 1,
      .units = {UnitsOf(0, 4, 100, 400), UnitsOf(0, 2, 100, 210), UnitsOf(0, 5, 1, 500),
                UnitsOf(1, 16, 3, 9000), UnitsOf(2, 0, 900, 5)}};
  const auto configurations = ConfigurationsOf(run);
  ASSERT_EQ(configurations.size(), 2U);
  EXPECT_EQ(configurations[0].name(), "n2");
  EXPECT_EQ(configurations[0].batch_size(), 2);
  EXPECT_EQ(configurations[0].samples_per_pass(), 2);
  EXPECT_EQ(configurations[0].nodes(0).time_ns(), 210);
  EXPECT_EQ(configurations[1].name(), "n4");
  MeasuredRun told = run;
  told.batch_size = 4;
  ASSERT_EQ(ConfigurationsOf(told).size(), 1U);
  EXPECT_EQ(ConfigurationsOf(told)[0].name(), "batch4");
  EXPECT_EQ(ConfigurationsOf(told)[0].samples_per_pass(), 4);
}

TEST(ConfigurationsTest, NoUnitsGiveNone) { EXPECT_TRUE(ConfigurationsOf({}).empty()); }

TEST(ProfileJsonTest, IsReadBackAsItWas) {
  v1::FillProfile profile;
  profile.set_samples_total(1000);
  for (const v1::FillConfiguration& configuration :
       ConfigurationsOf({.batch_size = 8,
       .memory_peak_bytes = int64_t{1} << 40,
       .units = {UnitsOf(0, 0, 10, 1000), UnitsOf(1, 0, 5, 99)}})) {
    *profile.add_configurations() = configuration;
  }
  v1::FillProfile read;
  const absl::Status status = ParseJson(ProfileJsonText(profile), "p.json", &read);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(read.SerializeAsString(), profile.SerializeAsString());
}

TEST(UnitTableTest, ShowsTimesAndSamplesPerSecond) {
  EXPECT_EQ(UnitTable({{.batch_size = 0,
                        .memory_peak_bytes = 1,
                        .units = {UnitsOf(0, 0, 6000, 1'000'000), UnitsOf(1, 4, 30, 2'000'000)}}}),
            "UNITS OF      COUNT  MEAN   P50   P90   MAX  PER SECOND\n"
            "label 0       6,000  1 ms  1 ms  1 ms  2 ms        1000\n"
            "label 1, n 4     30  2 ms  2 ms  2 ms  4 ms        2000\n");
}

}  // namespace
}  // namespace pipefill
