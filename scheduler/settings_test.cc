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

TEST(SettingsTest, EmptyConfigurationGivesTheDefaults) {
  const auto settings = ReadSettings(v1::SchedulerConfig());
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
  const auto settings = ReadSettings(config);
  ASSERT_TRUE(settings.ok()) << settings.status();
  EXPECT_EQ(settings->listen, "localhost:0");
  EXPECT_EQ(settings->default_memory_bytes, 256 << 20);
  EXPECT_EQ(settings->agent_lease, absl::Seconds(4));
  EXPECT_EQ(settings->jobs_max, 5);
  EXPECT_EQ(settings->history_jobs_max, 2) << "a small store leaves room for new jobs, too";
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
      {"agent_lease: ", [](auto* c) { c->set_agent_lease("soon"); }},
      {"agent_lease: ", [](auto* c) { c->set_agent_lease("1s"); }},
      {"agent_lost_after: ", [](auto* c) { c->set_agent_lost_after("12s"); }},
      {"jobs_max: ", [](auto* c) { c->set_jobs_max(-1); }},
      {"history_keep: ", [](auto* c) { c->set_history_keep("0s"); }},
      {"history_jobs_max: ", [](auto* c) { c->set_history_jobs_max(-1); }},
      {"history_jobs_max: ", [](auto* c) { c->set_history_jobs_max(1'000'000); }},
      {"snapshot_every: ", [](auto* c) { c->set_snapshot_every(-1); }},
      {"disk_reserve: ", [](auto* c) { c->set_disk_reserve("some"); }},
      {"policy: ", [](auto* c) { c->set_policy("lifo"); }},
      {"log_level: ", [](auto* c) { c->set_log_level("loud"); }},
  };
  for (const auto& [field, change] : cases) {
    v1::SchedulerConfig config;
    change(&config);
    const absl::Status status = ReadSettings(config).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << field;
    EXPECT_THAT(std::string(status.message()), StartsWith(field));
  }
}

}  // namespace
}  // namespace pipefill::scheduler
