#include "scheduler/service/agent_convert.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/testing/builders.h"

namespace pipefill::scheduler {
namespace {

using testing::StartsWith;

const AttemptKey kKey{JobId(3), AttemptNumber(2), Fence(9)};

v1::AgentHello GoodHello() {
  v1::AgentHello hello;
  hello.set_node("a");
  hello.set_boot_id("boot-1");
  v1::Device* device = hello.add_devices();
  device->set_node("liar");
  device->set_name("cpu0");
  device->set_memory_bytes(100);
  device->set_memory_free_bytes(60);
  device->set_resident_limit(1);
  return hello;
}

TEST(ReadHelloTest, DevicesBelongToTheNodeThatSpeaks) {
  const auto hello = ReadHello(GoodHello(), SessionId(4));
  ASSERT_TRUE(hello.ok()) << hello.status();
  EXPECT_EQ(hello->session, SessionId(4));
  EXPECT_EQ(hello->devices[0].key, (DeviceKey{"a", "cpu0"}));
  EXPECT_EQ(hello->devices[0].memory_free_bytes, 60);
}

TEST(ReadHelloTest, FreeMemoryIsBroughtIntoTheBudget) {
  v1::AgentHello hello = GoodHello();
  hello.mutable_devices(0)->set_memory_free_bytes(-5);
  EXPECT_EQ(ReadHello(hello, SessionId(1))->devices[0].memory_free_bytes, 0);
  hello.mutable_devices(0)->set_memory_free_bytes(500);
  EXPECT_EQ(ReadHello(hello, SessionId(1))->devices[0].memory_free_bytes, 100);
}

TEST(ReadHelloTest, EachBadFieldIsNamed) {
  using Change = std::function<void(v1::AgentHello*)>;
  const std::vector<std::pair<std::string, Change>> cases = {
      {"node: ", [](auto* h) { h->clear_node(); }},
      {"node: ", [](auto* h) { h->set_node("a/b"); }},
      {"boot_id: ", [](auto* h) { h->clear_boot_id(); }},
      {"devices.name: ", [](auto* h) { h->mutable_devices(0)->set_name("c p u"); }},
      {"devices.name: ", [](auto* h) { *h->add_devices() = h->devices(0); }},
      {"devices: ", [](auto* h) { h->mutable_devices(0)->set_memory_bytes(-1); }},
      {"devices: ", [](auto* h) { h->mutable_devices(0)->set_resident(-1); }},
      {"devices: ", [](auto* h) { h->mutable_devices(0)->set_resident_limit(-1); }},
      {"live_attempts: ",
       [](auto* h) {
         for (int i = 0; i < 5000; ++i) h->add_live_attempts();
       }},
      {"devices: ",
       [](auto* h) {
         for (int i = 0; i < 300; ++i) h->add_devices()->set_name("d" + std::to_string(i));
       }},
  };
  for (const auto& [text, change] : cases) {
    v1::AgentHello hello = GoodHello();
    change(&hello);
    const absl::Status status = ReadHello(hello, SessionId(1)).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(status.message()), StartsWith(text));
  }
}

TEST(ReadReportTest, BubblesAndProgressComeAlong) {
  v1::AgentReport report;
  report.add_bubbles()->set_node("liar");
  v1::AttemptProgress* progress = report.add_progress();
  progress->mutable_key()->set_fence(9);
  progress->mutable_progress()->set_units(5);
  const auto read = ReadReport(report, "a", SessionId(1));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->bubbles[0].device.node, "a");
  EXPECT_EQ(read->progress[0].first.fence, Fence(9));
  EXPECT_EQ(read->progress[0].second.units, 5);
}

TEST(ReadEndedTest, LongTextIsCut) {
  v1::AttemptEnded ended;
  ended.set_cause(v1::END_CAUSE_SIGNALLED);
  ended.set_signal(9);
  ended.set_text(std::string(5000, 'x'));
  const AttemptEnded read = ReadEnded(ended);
  EXPECT_EQ(read.end.cause, EndCause::kSignalled);
  EXPECT_EQ(read.end.signal, 9);
  EXPECT_EQ(read.end.text.size(), 1024U);
}

// A journal record with half a character in it could not be read again.
TEST(ReadEndedTest, LongTextIsNotCutInsideACharacter) {
  v1::AttemptEnded ended;
  std::string text = "x";
  for (int i = 0; i < 1000; ++i) text += "\xc3\xa9";
  ended.set_text(text);
  EXPECT_EQ(ReadEnded(ended).end.text, text.substr(0, 1023));
}

TEST(ToCommandTest, LaunchCarriesKeyDeviceAndSpecWithTheCapOfTheAttempt) {
  const LaunchAttempt action{kKey,
                             {"a", "cpu0"},
                             std::make_shared<const JobSpec>(SpecThatNeeds(kMiB)),
                             2 * kMiB,
                             TimeAt(1).wall};
  const v1::AgentCommand command = ToCommand(action, {});
  EXPECT_EQ(command.launch().key().fence(), 9U);
  EXPECT_EQ(command.launch().device(), "cpu0");
  EXPECT_EQ(command.launch().spec().memory_bytes(), 2 * kMiB);
  EXPECT_EQ(command.launch().job_submitted_unix_ns(), 1'700'000'001'000'000'000);
}

TEST(ToCommandTest, LaunchTellsATaskItsIndexAndNothingOfTheOthers) {
  JobSpec spec = SpecThatNeeds(kMiB);
  spec.array = ArraySpec{.ranges = {{0, 98, 2}}};
  spec.dependencies = {{JobId(1), DependencyCondition::kOk}};
  LaunchAttempt action;
  action.spec = std::make_shared<const JobSpec>(spec);
  action.array_of = JobId(7);
  action.array_index = 12;
  const v1::JobSpec launched = ToCommand(action, {}).launch().spec();
  EXPECT_EQ(launched.env().at("PIPEFILL_ARRAY_ID"), "7");
  EXPECT_EQ(launched.env().at("PIPEFILL_ARRAY_INDEX"), "12");
  EXPECT_EQ(launched.env().at("PIPEFILL_ARRAY_COUNT"), "50");
  EXPECT_FALSE(launched.has_array());
  EXPECT_EQ(launched.dependencies_size(), 0);
}

TEST(ToCommandTest, HigherPriorityIsTheLowerRankAmongTheTasksOfADevice) {
  JobSpec spec = SpecThatNeeds(kMiB);
  spec.priority = 5;
  LaunchAttempt action;
  action.spec = std::make_shared<const JobSpec>(spec);
  EXPECT_EQ(ToCommand(action, {}).launch().policy_rank(), -5);
}

TEST(ToCommandTest, LaunchCarriesTheConfigurationAloneOfTheProfile) {
  JobSpec spec = SpecThatNeeds(kMiB);
  Configuration configuration;
  configuration.name = "batch8";
  configuration.batch_size = 8;
  spec.profile.configurations = {configuration};
  LaunchAttempt action;
  action.spec = std::make_shared<const JobSpec>(spec);
  action.configuration = configuration;
  const v1::AgentCommand command = ToCommand(action, {});
  EXPECT_EQ(command.launch().config(),
            R"({"name":"batch8","batch_size":8,"memory_saving":"plain"})");
  EXPECT_FALSE(command.launch().spec().has_profile());
  action.configuration = std::nullopt;
  EXPECT_EQ(ToCommand(action, {}).launch().config(), "");
}

TEST(ToCommandTest, StopCarriesCauseAndGrace) {
  AgentTerms terms;
  terms.stop_grace = absl::Seconds(2);
  const v1::AgentCommand command = ToCommand(StopAttempt{"a", kKey, EndCause::kLost, "why"}, terms);
  EXPECT_EQ(command.stop().key().job_id(), 3);
  EXPECT_EQ(command.stop().cause(), v1::END_CAUSE_LOST);
  EXPECT_EQ(command.stop().grace_ns(), 2'000'000'000);
  EXPECT_EQ(command.stop().text(), "why");
}

TEST(ToCommandTest, SettingsOfAMainJobAreWhole) {
  MainJobSettings settings = PausedMainJob("gpt");
  settings.mode = FillMode::kFill;
  settings.budget_ppm = 5'000;
  settings.static_share_ppm = 680'000;
  const v1::AgentCommand command = ToCommand(SetMainJob{"a", settings}, {});
  EXPECT_EQ(command.main_job_settings().main_job(), "gpt");
  EXPECT_EQ(command.main_job_settings().mode(), v1::FILL_MODE_FILL);
  EXPECT_EQ(command.main_job_settings().budget_ppm(), 5'000U);
  EXPECT_EQ(command.main_job_settings().static_share_ppm(), 680'000U);
  EXPECT_TRUE(command.main_job_settings().paused());
}

TEST(ToCommandTest, WelcomeCarriesTheLease) {
  AgentTerms terms;
  terms.lease = absl::Seconds(7);
  EXPECT_EQ(ToCommand(WelcomeAgent{"a"}, terms).welcome().lease_ns(), 7'000'000'000);
}

TEST(ToCommandTest, KeepAliveAndAcknowledgementAreThere) {
  EXPECT_TRUE(ToCommand(KeepAgentAlive{"a"}, {}).has_keep_alive());
  EXPECT_EQ(ToCommand(AcknowledgeEnd{"a", kKey}, {}).end_acknowledged().key().attempt(), 2);
  EXPECT_EQ(
      ToCommand(AcknowledgeEnd{"a", kKey}, {}).end_acknowledged().job_over_submitted_unix_ns(), 0);
  EXPECT_EQ(ToCommand(AcknowledgeEnd{"a", kKey, TimeAt(1).wall}, {})
                .end_acknowledged()
                .job_over_submitted_unix_ns(),
            1'700'000'001'000'000'000);
}

}  // namespace
}  // namespace pipefill::scheduler
