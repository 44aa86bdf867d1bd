#include "scheduler/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace pipefill::scheduler {
namespace {

using testing::StartsWith;

absl::StatusOr<std::string> ReadNothing(const std::string& file) {
  return absl::NotFoundError(file + ": no such file");
}

TEST(SettingsTest, EmptyConfigurationGivesTheDefaults) {
  const auto settings = ReadSettings(v1::SchedulerConfig(), ReadNothing);
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(settings->listen, "127.0.0.1:7700");
  EXPECT_EQ(settings->state_dir, "/var/lib/pipefill/schedulerd");
  EXPECT_EQ(settings->policy, "fifo");
  EXPECT_EQ(settings->default_memory_bytes, int64_t{1} << 30);
  EXPECT_EQ(settings->agent_lease, absl::Seconds(10));
  EXPECT_EQ(settings->agent_lost_after, absl::Seconds(15));
  EXPECT_EQ(settings->jobs_max, 1'000'000);
  EXPECT_EQ(settings->spec_max_bytes, 64 << 10);
  EXPECT_EQ(settings->log_level, "info");
}

TEST(SettingsTest, ValuesReplaceTheDefaults) {
  v1::SchedulerConfig config;
  config.set_listen("localhost:0");
  config.set_default_memory("256MiB");
  config.set_agent_lease("4s");
  config.set_agent_lost_after("8s");
  config.set_jobs_max(5);
  const auto settings = ReadSettings(config, ReadNothing);
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(settings->listen, "localhost:0");
  EXPECT_EQ(settings->default_memory_bytes, 256 << 20);
  EXPECT_EQ(settings->agent_lease, absl::Seconds(4));
  EXPECT_EQ(settings->jobs_max, 5);
  EXPECT_EQ(settings->history_jobs_max, 2) << "a small store leaves room for new jobs, too";
}

TEST(SettingsTest, LimitsReplaceTheirDefaults) {
  v1::SchedulerConfig config;
  config.set_message_max("64MiB");
  config.set_spec_max("32MiB");
  config.set_requests_max(7);
  config.set_ids_max(7);
  config.set_watchers_max(10'000'000);
  const auto settings = ReadSettings(config, ReadNothing);
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(settings->limits.message_max_bytes, 64 << 20);
  EXPECT_EQ(settings->limits.requests_max, 7);
  EXPECT_EQ(settings->limits.watchers_max, 10'000'000);
  EXPECT_EQ(settings->limits.waits_max, Limits().waits_max);
}

TEST(SettingsTest, RareReportsNeedMoreTimeBetweenLeaseAndLoss) {
  v1::SchedulerConfig config;
  config.set_report_period("5s");
  config.set_agent_lease("8s");
  config.set_agent_lost_after("14s");
  const auto settings = ReadSettings(config, ReadNothing);
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(settings->report_period, absl::Seconds(5));
  config.set_agent_lost_after("13500ms");
  EXPECT_FALSE(ReadSettings(config, ReadNothing).ok());
  config.set_agent_lost_after("1m");
  config.set_agent_lease("7900ms");
  EXPECT_FALSE(ReadSettings(config, ReadNothing).ok())
      << "tasks would be told to save all the time";
}

TEST(SettingsTest, EachBadValueIsNamed) {
  using Change = std::function<void(v1::SchedulerConfig*)>;
  const std::vector<std::pair<std::string, Change>> cases = {
      {"listen: ", [](auto* c) { c->set_listen("127.0.0.1"); }},
      {"listen: ", [](auto* c) { c->set_listen("127.0.0.1:70000"); }},
      {"listen: ", [](auto* c) { c->set_listen("0.0.0.0:7700"); }},
      {"listen: ", [](auto* c) { c->set_listen("example.org:7700"); }},
      {"default_memory: ", [](auto* c) { c->set_default_memory("much"); }},
      {"default_memory: ", [](auto* c) { c->set_default_memory("0"); }},
      {"spec_max: ", [](auto* c) { c->set_spec_max("3MiB"); }},
      {"message_max: ", [](auto* c) { c->set_message_max("63KiB"); }},
      {"message_max: ", [](auto* c) { c->set_message_max("65MiB"); }},
      {"watchers_max: ", [](auto* c) { c->set_watchers_max(-1); }},
      {"watchers_max: ", [](auto* c) { c->set_watchers_max(10'000'001); }},
      {"ids_max: ", [](auto* c) { c->set_requests_max(999); }},
      {"agent_lease: ", [](auto* c) { c->set_agent_lease("soon"); }},
      {"agent_lease: ", [](auto* c) { c->set_agent_lease("1s"); }},
      {"agent_lost_after: ", [](auto* c) { c->set_agent_lost_after("12s"); }},
      {"agent_lost_after: ", [](auto* c) { c->set_report_period("5s"); }},
      {"report_period: ", [](auto* c) { c->set_report_period("500ms"); }},
      {"report_period: ", [](auto* c) { c->set_report_period("2m"); }},
      {"jobs_max: ", [](auto* c) { c->set_jobs_max(-1); }},
      {"history_keep: ", [](auto* c) { c->set_history_keep("0s"); }},
      {"history_jobs_max: ", [](auto* c) { c->set_history_jobs_max(-1); }},
      {"history_jobs_max: ", [](auto* c) { c->set_history_jobs_max(1'000'000); }},
      {"snapshot_every: ", [](auto* c) { c->set_snapshot_every(-1); }},
      {"disk_reserve: ", [](auto* c) { c->set_disk_reserve("some"); }},
      {"array_tasks_max: ", [](auto* c) { c->set_array_tasks_max(1'000'001); }},
      {"array_window: ", [](auto* c) { c->set_array_window(-1); }},
      {"array_history_max: ", [](auto* c) { c->set_array_history_max(-1); }},
      {"policy: ", [](auto* c) { c->set_policy("lifo"); }},
      {"log_level: ", [](auto* c) { c->set_log_level("loud"); }},
  };
  for (const auto& [field, change] : cases) {
    v1::SchedulerConfig config;
    change(&config);
    const absl::Status status = ReadSettings(config, ReadNothing).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << field;
    EXPECT_THAT(std::string(status.message()), StartsWith(field));
  }
}

TEST(SettingsTest, TenantsAndLimitsOfPlanning) {
  v1::SchedulerConfig config;
  v1::TenantConfig& tenant = *config.add_tenants();
  tenant.set_name("vision");
  tenant.set_resident_max(4);
  tenant.set_borrow(true);
  config.set_min_runtime("0s");
  config.set_refusals_max(5);
  config.set_quarantine("2m");
  const auto settings = ReadSettings(config, ReadNothing);
  ASSERT_TRUE(settings.ok()) << settings.status();
  ASSERT_EQ(settings->tenants.size(), 1U);
  EXPECT_EQ(settings->tenants[0].weight, 1);
  EXPECT_EQ(settings->tenants[0].resident_max, 4);
  EXPECT_TRUE(settings->tenants[0].may_borrow);
  EXPECT_EQ(settings->min_runtime, absl::ZeroDuration());
  EXPECT_EQ(settings->refusals.refusals_max, 5);
  EXPECT_EQ(settings->refusals.quarantine, absl::Minutes(2));
}

std::string ErrorOf(const v1::SchedulerConfig& config) {
  return std::string(ReadSettings(config, ReadNothing).status().message());
}

TEST(SettingsTest, BadTenantsAndPoliciesAreNamed) {
  v1::SchedulerConfig config;
  config.add_tenants()->set_name("a b");
  EXPECT_EQ(ErrorOf(config), "tenants.name: \"a b\" is not 1..64 characters of [A-Za-z0-9._-]");
  config.mutable_tenants(0)->set_name("a");
  config.mutable_tenants(0)->set_weight(-1);
  EXPECT_EQ(ErrorOf(config), "tenants.weight: of a must be more than 0");
  config.mutable_tenants(0)->set_weight(1);
  config.add_tenants()->set_name("a");
  EXPECT_EQ(ErrorOf(config), "tenants.name: \"a\" is there twice");
  config.clear_tenants();
  config.set_policy("lua:/x.lua");
  EXPECT_EQ(ErrorOf(config), "policy: /x.lua: no such file");
  config.set_policy("edf,sjf");
  config.set_fallback_policy("lua:/x.lua");
  EXPECT_EQ(ErrorOf(config), "fallback_policy: must not be a script: it plans when one has failed");
}

}  // namespace
}  // namespace pipefill::scheduler
