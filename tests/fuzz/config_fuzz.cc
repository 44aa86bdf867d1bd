// Configuration files of both daemons: an error names the file and the line; what is taken comes
// back from its own JSON.
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/message_differencer.h>

#include "absl/strings/match.h"
#include "agent/agent_settings.h"
#include "common/check.h"
#include "common/config.h"
#include "proto/config.pb.h"
#include "scheduler/settings.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/fuzz_target.h"

namespace pipefill {
namespace {

template <typename Config>
std::optional<Config> Read(absl::string_view text) {
  Config config;
  const absl::Status status = ParseJson(text, "daemon.json", &config);
  if (!status.ok()) {
    CHECK(status.code() == absl::StatusCode::kInvalidArgument);
    CHECK(absl::StartsWith(status.message(), "daemon.json:"));
    return std::nullopt;
  }
  std::string json;
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  CHECK(google::protobuf::util::MessageToJsonString(config, &json, options).ok());
  Config again;
  CHECK(ParseJson(json, "again.json", &again).ok());
  CHECK(google::protobuf::util::MessageDifferencer::Equals(config, again));
  return config;
}

absl::StatusOr<std::string> NoScripts(const std::string&) {
  return absl::NotFoundError("no such script");
}

}  // namespace

bool TakeInput(absl::string_view input) {
  InputReader reader(input);
  const bool is_agent = reader.Take<char>() == 'a';
  const absl::string_view text = reader.TakeRest();
  if (is_agent) {
    const auto config = Read<v1::AgentConfig>(text);
    return config.has_value() && ReadSettings(*config, "node1").ok();
  }
  const auto config = Read<v1::SchedulerConfig>(text);
  return config.has_value() && scheduler::ReadSettings(*config, NoScripts).ok();
}

std::vector<std::string> Seeds() {
  return {R"(a// of a node
{
  "node": "n1", "scheduler": "10.0.0.1:7700", "devices": [
    {"name": "cpu0", "backend": "cpu", "cores": "0-3,8", "memory": "2GiB", "resident_limit": 2}
  ],
  "hold_out": {"block_iterations": 2, "one_in": 16, "early_iterations": 1024, "one_in_late": 64},
  "predictor": {"overrun_ratio": 0.2, "samples_max": 64, "bubble_min": "100us"},
  "controller": {"budget_ppm": 10000, "back_off_min": "30s"},
  "failure": {"after": "5s", "unit_max": "20ms"}, "gate": {"spin": "0us"},
  "trace_max": "256MiB", "ladder": {"freeze_after": "2s"}, "keep_tasks_at_stop": true
})",
          R"(s{
  "listen": "127.0.0.1:0", "policy": "edf,sjf", "agent_lease": "10s", "agent_lost_after": "15s",
  "tenants": [{"name": "vision", "weight": 2.5, "resident_max": 40, "borrow": true}],
  "jobs_max": 1000, "history_keep": "720h", "disk_reserve": "16MiB", "log_level": "warn"
})",
          "a{}", "s{}"};
}

}  // namespace pipefill
