#include "agent/convert.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pipefill {
namespace {

using ::testing::HasSubstr;

v1::LaunchAttempt GoodLaunch() {
  v1::LaunchAttempt launch;
  launch.mutable_key()->set_job_id(7);
  launch.mutable_key()->set_attempt(2);
  launch.mutable_key()->set_fence(99);
  launch.set_device("cpu0");
  v1::JobSpec& spec = *launch.mutable_spec();
  spec.set_name("embed");
  spec.add_command("python3");
  spec.add_command("embed.py");
  (*spec.mutable_env())["SEED"] = "1";
  spec.set_workdir("/data");
  spec.set_memory_bytes(1 << 20);
  launch.set_policy_rank(-3);
  launch.set_config(R"({"batch_size":8})");
  launch.set_job_submitted_unix_ns(99);
  spec.set_max_runtime_ns(5'000'000'000);
  return launch;
}

std::string ErrorOf(const v1::LaunchAttempt& launch) {
  return std::string(FromProto(launch).status().message());
}

TEST(ConvertTest, LaunchBecomesASpecWithAllItsFields) {
  const absl::StatusOr<AttemptSpec> spec = FromProto(GoodLaunch());
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->key.job, JobId(7));
  EXPECT_EQ(spec->key.attempt, AttemptNumber(2));
  EXPECT_EQ(spec->key.fence, Fence(99));
  EXPECT_EQ(spec->job_name, "embed");
  EXPECT_EQ(spec->device, "cpu0");
  EXPECT_EQ(spec->command, (std::vector<std::string>{"python3", "embed.py"}));
  EXPECT_EQ(spec->env.at("SEED"), "1");
  EXPECT_EQ(spec->workdir, "/data");
  EXPECT_EQ(spec->memory_bytes, 1 << 20);
  EXPECT_EQ(spec->policy_rank, -3);
  EXPECT_EQ(spec->config, R"({"batch_size":8})");
  EXPECT_EQ(spec->job_submitted_unix_ns, 99);
  EXPECT_EQ(spec->max_runtime, absl::Seconds(5));
}

TEST(ConvertTest, RefusesWhatCannotBeRun) {
  v1::LaunchAttempt launch = GoodLaunch();
  launch.mutable_spec()->clear_command();
  EXPECT_THAT(ErrorOf(launch), HasSubstr("no command"));
  launch = GoodLaunch();
  launch.mutable_spec()->set_memory_bytes(0);
  EXPECT_THAT(ErrorOf(launch), HasSubstr("memory cap"));
  launch = GoodLaunch();
  launch.mutable_spec()->set_workdir("data");
  EXPECT_THAT(ErrorOf(launch), HasSubstr("not an absolute path"));
  launch = GoodLaunch();
  launch.mutable_spec()->add_command(std::string("a\0b", 3));
  EXPECT_THAT(ErrorOf(launch), HasSubstr("NUL"));
  for (const char* name : {"", "1A", "A=B", "A B"}) {
    launch = GoodLaunch();
    (*launch.mutable_spec()->mutable_env())[name] = "x";
    EXPECT_THAT(ErrorOf(launch), HasSubstr("is no name of a variable"));
  }
}

TEST(ConvertTest, SettingsOfAMainJobBecomeOurs) {
  v1::MainJobSettings settings;
  settings.set_main_job("gpt");
  settings.set_mode(v1::FILL_MODE_REPORT);
  settings.set_budget_ppm(5'000);
  settings.set_paused(true);
  settings.set_static_share_ppm(680'000);
  const MainJobSettings ours = FromProto(settings);
  EXPECT_EQ(ours.main_job, "gpt");
  EXPECT_EQ(ours.mode, FillMode::kReport);
  EXPECT_EQ(ours.budget_ppm, 5'000u);
  EXPECT_TRUE(ours.is_paused);
  EXPECT_EQ(ours.static_share_ppm, 680'000u);
}

TEST(ConvertTest, SettingsThatMakeNoSenseAreUnset) {
  v1::MainJobSettings settings;
  settings.set_mode(static_cast<v1::FillMode>(77));
  settings.set_budget_ppm(1'000'001);
  settings.set_static_share_ppm(1'000'001);
  EXPECT_FALSE(FromProto(settings).is_anything_set());
}

TEST(ConvertTest, KeysSurviveTheWayThereAndBack) {
  const AttemptKey key = {.job = JobId(1), .attempt = AttemptNumber(2), .fence = Fence(3)};
  EXPECT_EQ(FromProto(ToProto(key)), key);
}

TEST(ConvertTest, UnknownStopCausesCountAsLost) {
  EXPECT_EQ(StopCauseFromProto(v1::END_CAUSE_CANCELLED), EndCause::kCancelled);
  EXPECT_EQ(StopCauseFromProto(v1::END_CAUSE_LOST), EndCause::kLost);
  EXPECT_EQ(StopCauseFromProto(v1::END_CAUSE_UNSPECIFIED), EndCause::kLost);
}

}  // namespace
}  // namespace pipefill
