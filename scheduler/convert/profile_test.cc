#include "scheduler/convert/profile.h"

#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <limits>

namespace pipefill::scheduler {
namespace {

using google::protobuf::util::MessageDifferencer;

v1::FillProfile WholeProfile() {
  v1::FillProfile profile;
  profile.set_samples_total(1000);
  for (int i = v1::MEMORY_SAVING_PLAIN; i <= v1::MEMORY_SAVING_OFFLOAD; ++i) {
    v1::FillConfiguration* configuration = profile.add_configurations();
    configuration->set_name("c" + std::to_string(i));
    configuration->set_batch_size(8 + i);
    configuration->set_memory_saving(static_cast<v1::MemorySaving>(i));
    configuration->set_samples_per_pass(16 + i);
    configuration->set_resident_bytes(100 + i);
    v1::ProfileNode* node = configuration->add_nodes();
    node->set_time_ns(5);
    node->set_time_p90_ns(6);
    node->set_memory_bytes(7);
    node->set_repeats(8);
  }
  return profile;
}

TEST(ProfileConvertTest, EveryFieldSurvives) {
  const v1::FillProfile back = ToProto(FromProto(WholeProfile()));
  EXPECT_TRUE(MessageDifferencer::Equals(back, WholeProfile())) << back.DebugString();
}

TEST(ProfileConvertTest, ZeroCountsAsOneWhereNoneMakesNoSense) {
  v1::FillProfile profile;
  profile.add_configurations()->add_nodes();
  const FillProfile read = FromProto(profile);
  EXPECT_EQ(read.configurations[0].samples_per_pass, 1);
  EXPECT_EQ(read.configurations[0].chain[0].repeats, 1);
  EXPECT_EQ(read.configurations[0].memory_saving, MemorySaving::kPlain);
}

TEST(ForecastConvertTest, TimeLeftBecomesWallTime) {
  JobForecast forecast;
  forecast.rate = {.low = 1, .mid = 2, .high = 3};
  forecast.seconds_left = {.low = 10, .mid = 20, .high = std::numeric_limits<double>::infinity()};
  forecast.configuration = "batch8";
  forecast.text = "why";
  const v1::Forecast to = ToProto(forecast, absl::FromUnixSeconds(1000));
  EXPECT_EQ(to.rate_low(), 1);
  EXPECT_EQ(to.rate(), 2);
  EXPECT_EQ(to.rate_high(), 3);
  EXPECT_EQ(to.finish_earliest_unix_ns(), 1'010'000'000'000);
  EXPECT_EQ(to.finish_unix_ns(), 1'020'000'000'000);
  EXPECT_EQ(to.finish_latest_unix_ns(), 0);
  EXPECT_EQ(to.configuration(), "batch8");
  EXPECT_EQ(to.text(), "why");
}

TEST(ConfigTextTest, IsJson) {
  Configuration configuration;
  configuration.name = "n8";
  configuration.batch_size = 8;
  configuration.memory_saving = MemorySaving::kCheckpointing;
  EXPECT_EQ(ConfigText(configuration),
            R"({"name":"n8","batch_size":8,"memory_saving":"checkpointing"})");
}

}  // namespace
}  // namespace pipefill::scheduler
