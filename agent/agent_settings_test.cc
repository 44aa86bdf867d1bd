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
  EXPECT_EQ(settings->checkpoint_dir, "/var/lib/pipefill/agentd/checkpoints");
  EXPECT_EQ(settings->checkpoint_every_min, absl::Seconds(10));
  EXPECT_EQ(settings->checkpoint_every_max, absl::Minutes(10));
  EXPECT_EQ(settings->socket_group, "");
  EXPECT_FALSE(settings->keep_tasks_at_stop);
  EXPECT_EQ(settings->trace_max_bytes, int64_t{256} << 20);
  EXPECT_EQ(settings->log_max_bytes, int64_t{64} << 20);
  EXPECT_EQ(settings->task_limits.processes_max, 4096);
  EXPECT_EQ(settings->process_gate, "");
  EXPECT_EQ(settings->drain_period, absl::Milliseconds(10));
  EXPECT_EQ(settings->window.hold_out.one_in, 16u);
  EXPECT_EQ(settings->window.hold_out.block_iterations, 1u);
  EXPECT_EQ(settings->window.hold_out.early_iterations, 1024u);
  EXPECT_EQ(settings->window.hold_out.one_in_late, 64u);
  EXPECT_EQ(settings->predictor.samples_max, 64u);
  EXPECT_EQ(settings->predictor.samples_min, 8u);
  EXPECT_EQ(settings->predictor.bubble_min, absl::Microseconds(100));
  EXPECT_EQ(settings->controller.budget_ppm, 10'000u);
  EXPECT_EQ(settings->controller.overrun_ratio_min, 0.02);
  EXPECT_EQ(settings->controller.overrun_ratio_max, 0.5);
  EXPECT_EQ(settings->controller.back_off_min, absl::Seconds(30));
  EXPECT_EQ(settings->controller.back_off_max, absl::Minutes(30));
  EXPECT_EQ(settings->failure.after, absl::Seconds(5));
  EXPECT_EQ(settings->failure.unit_max, absl::Milliseconds(20));
}

TEST(AgentSettingsTest, GatesAndPredictorsShareOneLadderOfUnits) {
  const absl::StatusOr<AgentSettings> settings = ReadSettings({}, "host");
  EXPECT_EQ(settings->window.unit_ns, settings->predictor.unit_ns);
}

TEST(AgentSettingsTest, CheckpointsAreBetweenTheirBounds) {
  v1::AgentConfig config;
  config.set_checkpoint_dir("/shared");
  config.set_checkpoint_every_min("0s");
  config.set_checkpoint_every_max("2s");
  const absl::StatusOr<AgentSettings> settings = ReadSettings(config, "host");
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(settings->checkpoint_dir, "/shared");
  config.set_checkpoint_every_min("3s");
  EXPECT_THAT(ErrorOf(config), HasSubstr("checkpoint_every_min=3 s checkpoint_every_max=2 s"));
  config.set_checkpoint_every_min("often");
  EXPECT_THAT(ErrorOf(config), StartsWith("checkpoint_every_min: "));
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

TEST(AgentSettingsTest, ControllerIsAsNamed) {
  v1::AgentConfig config;
  config.mutable_controller()->set_budget_ppm(5000);
  config.mutable_controller()->set_overrun_ratio_min(0.1);
  config.mutable_controller()->set_overrun_ratio_max(0.3);
  config.mutable_controller()->set_back_off_min("1s");
  config.mutable_controller()->set_back_off_max("1s");
  const absl::StatusOr<AgentSettings> settings = ReadSettings(config, "host");
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(settings->controller.budget_ppm, 5000u);
  EXPECT_EQ(settings->controller.overrun_ratio_min, 0.1);
  EXPECT_EQ(settings->controller.overrun_ratio_max, 0.3);
  EXPECT_EQ(settings->controller.back_off_min, absl::Seconds(1));
  EXPECT_EQ(settings->controller.back_off_max, absl::Seconds(1));
}

TEST(AgentSettingsTest, RefusesControllersThatHaveNowhereToGo) {
  v1::AgentConfig config;
  config.mutable_controller()->set_budget_ppm(1'000'001);
  EXPECT_THAT(ErrorOf(config), StartsWith("controller.budget_ppm: 1000001"));
  config = {};
  config.mutable_controller()->set_overrun_ratio_min(0.4);
  config.mutable_controller()->set_overrun_ratio_max(0.3);
  EXPECT_THAT(ErrorOf(config), HasSubstr("they must grow, between 0 and 1"));
  config.mutable_controller()->set_overrun_ratio_max(1);
  EXPECT_THAT(ErrorOf(config), HasSubstr("they must grow, between 0 and 1"));
  config.mutable_controller()->set_overrun_ratio_max(0.5);
  EXPECT_THAT(ErrorOf(config), StartsWith("predictor.overrun_ratio: 0.2 is not in controller."));
  config = {};
  config.mutable_controller()->set_back_off_max("10s");
  EXPECT_THAT(ErrorOf(config), HasSubstr("back_off_min=30 s back_off_max=10 s; they must grow"));
  config.mutable_controller()->set_back_off_min("0s");
  EXPECT_THAT(ErrorOf(config), HasSubstr("they must grow, from more than 0"));
  config.mutable_controller()->set_back_off_min("soon");
  EXPECT_THAT(ErrorOf(config), StartsWith("controller.back_off_min: "));
}

TEST(AgentSettingsTest, FailureBubblesAreTurnedOffByTheirDelayOnly) {
  v1::AgentConfig config;
  config.mutable_failure()->set_after("0s");
  EXPECT_EQ(ReadSettings(config, "host")->failure.after, absl::ZeroDuration());
  config.mutable_failure()->set_unit_max("0s");
  EXPECT_THAT(ErrorOf(config), StartsWith("failure.unit_max: no unit could ever start"));
  config = {};
  config.mutable_failure()->set_after("late");
  EXPECT_THAT(ErrorOf(config), StartsWith("failure.after: "));
}

TEST(AgentSettingsTest, LadderIsThatOfTheTaskMachineWhereNothingIsSet) {
  v1::AgentConfig config;
  config.mutable_ladder()->set_start_cpu_max("30s");
  config.mutable_ladder()->set_kill_after("1s");
  const absl::StatusOr<AgentSettings> settings = ReadSettings(config, "host");
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(settings->task_limits.start_cpu_max, absl::Seconds(30));
  EXPECT_EQ(settings->task_limits.kill_after, absl::Seconds(1));
  EXPECT_EQ(settings->task_limits.freeze_after, TaskLimits().freeze_after);
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
  config.set_processes_max(3);
  EXPECT_THAT(ErrorOf(config), StartsWith("processes_max: 3 is less than 16"));
  config = {};
  config.mutable_ladder()->set_freeze_after("long");
  EXPECT_THAT(ErrorOf(config), StartsWith("ladder.freeze_after: "));
  config.mutable_ladder()->set_freeze_after("0s");
  EXPECT_THAT(ErrorOf(config), StartsWith("ladder.freeze_after: it must be more than 0"));
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
