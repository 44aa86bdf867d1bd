#include "agent/agent_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pipefill {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string ErrorOf(const v1::AgentConfig& config) {
  return std::string(ReadSettings(config, "host").status().message());
}

TEST(AgentSettingsTest, EmptyConfigurationGivesTheDocumentedDefaults) {
  const absl::StatusOr<AgentSettings> settings = ReadSettings({}, "host");
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(settings->node, "host");
  EXPECT_EQ(settings->scheduler, "127.0.0.1:7700");
  EXPECT_EQ(settings->socket, "/run/pipefill/agentd.sock");
  EXPECT_EQ(settings->state_dir, "/var/lib/pipefill/agentd");
  EXPECT_EQ(settings->python_path, "");
  EXPECT_EQ(settings->socket_group, "");
  EXPECT_EQ(settings->trace_max_bytes, int64_t{256} << 20);
  EXPECT_EQ(settings->log_max_bytes, int64_t{64} << 20);
  EXPECT_EQ(settings->drain_period, absl::Milliseconds(10));
  EXPECT_EQ(settings->window.hold_out.one_in, 16u);
  EXPECT_EQ(settings->window.hold_out.block_iterations, 1u);
  EXPECT_EQ(settings->window.hold_out.early_iterations, 1024u);
  EXPECT_EQ(settings->window.hold_out.one_in_late, 64u);
  EXPECT_EQ(settings->predictor.samples_max, 64u);
  EXPECT_EQ(settings->predictor.samples_min, 8u);
  EXPECT_EQ(settings->predictor.bubble_min, absl::Microseconds(200));
}

TEST(AgentSettingsTest, GatesAndPredictorsShareOneLadderOfUnits) {
  const absl::StatusOr<AgentSettings> settings = ReadSettings({}, "host");
  EXPECT_EQ(settings->window.unit_ns, settings->predictor.unit_ns);
}

TEST(AgentSettingsTest, LaterHoldOutsAreSomeOfTheEarlierOnes) {
  v1::AgentConfig config;
  config.mutable_hold_out()->set_one_in(16);
  config.mutable_hold_out()->set_one_in_late(40);
  EXPECT_THAT(ErrorOf(config), HasSubstr("hold_out.one_in_late=40; it must be a multiple of"));
  config.mutable_hold_out()->set_one_in_late(48);
  EXPECT_EQ(ErrorOf(config), "");
}

TEST(AgentSettingsTest, HoldOutsAreAsNamedAndZeroMeansNone) {
  v1::AgentConfig config;
  config.mutable_hold_out()->set_block_iterations(4);
  EXPECT_EQ(ReadSettings(config, "host")->window.hold_out.block_iterations, 4u);
  EXPECT_EQ(ReadSettings(config, "host")->window.hold_out.one_in, 16u);
  config.mutable_hold_out()->set_one_in(0);
  EXPECT_EQ(ReadSettings(config, "host")->window.hold_out.one_in, 0u);
}

TEST(AgentSettingsTest, ZeroTraceMeansNoTrace) {
  v1::AgentConfig config;
  config.set_trace_max("0");
  EXPECT_EQ(ReadSettings(config, "host")->trace_max_bytes, 0);
}

TEST(AgentSettingsTest, FewSamplesLowerTheNeededOnesWithThem) {
  v1::AgentConfig config;
  config.mutable_predictor()->set_samples_max(4);
  const absl::StatusOr<AgentSettings> settings = ReadSettings(config, "host");
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(settings->predictor.samples_min, 4u);
}

TEST(AgentSettingsTest, NamesTheFieldThatMakesNoSense) {
  v1::AgentConfig config;
  config.set_drain_period("fast");
  EXPECT_THAT(ErrorOf(config), StartsWith("drain_period: "));
  config.set_drain_period("2s");
  EXPECT_THAT(ErrorOf(config), HasSubstr("is not in 1 ms to 250 ms"));
  config = {};
  config.set_log_level("loud");
  EXPECT_THAT(ErrorOf(config), StartsWith("log_level: loud is unknown"));
  config = {};
  config.set_log_max("many");
  EXPECT_THAT(ErrorOf(config), StartsWith("log_max: "));
  config = {};
  config.set_trace_max("-1");
  EXPECT_THAT(ErrorOf(config), StartsWith("trace_max: "));
  config = {};
  config.mutable_predictor()->set_overrun_ratio(1.5);
  EXPECT_THAT(ErrorOf(config), StartsWith("predictor.overrun_ratio: "));
  config = {};
  config.mutable_predictor()->set_samples_min(65);
  EXPECT_THAT(ErrorOf(config), StartsWith("predictor.samples_min: "));
  config = {};
  config.mutable_predictor()->set_samples_max(-1);
  EXPECT_THAT(ErrorOf(config), StartsWith("predictor.samples_max: "));
  config = {};
  config.mutable_gate()->set_spin("soon");
  EXPECT_THAT(ErrorOf(config), StartsWith("gate.spin: "));
}

}  // namespace
}  // namespace pipefill
