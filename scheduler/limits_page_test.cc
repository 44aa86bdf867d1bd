// docs/how-to/limits.md says what is true: every limit of the configuration is there, with its
// default.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/files.h"
#include "proto/config.pb.h"
#include "scheduler/settings.h"

namespace pipefill::scheduler {
namespace {

// Setting -> default, of the table.
std::map<std::string, std::string> RowsOfThePage() {
  const absl::StatusOr<std::string> page = ReadFile("docs/how-to/limits.md");
  EXPECT_TRUE(page.ok()) << page.status();
  std::map<std::string, std::string> rows;
  for (absl::string_view line : absl::StrSplit(*page, '\n')) {
    const std::vector<absl::string_view> cells = absl::StrSplit(line, '|');
    if (cells.size() < 4 || !absl::StartsWith(cells[1], " `")) continue;
    rows[std::string(absl::StripSuffix(absl::StripPrefix(cells[1], " `"), "` "))] =
        std::string(absl::StripAsciiWhitespace(cells[2]));
  }
  return rows;
}

std::map<std::string, std::string> Defaults() {
  const Settings settings;
  const Limits& limits = settings.limits;
  const auto bytes = [](int64_t value) { return absl::StrCat(value >> 10, "KiB"); };
  return {{"message_max", absl::StrCat(limits.message_max_bytes >> 20, "MiB")},
          {"spec_max", bytes(settings.spec_max_bytes)},
          {"jobs_max", absl::StrCat(settings.jobs_max)},
          {"history_jobs_max", absl::StrCat(settings.history_jobs_max)},
          {"array_tasks_max", absl::StrCat(settings.array_tasks_max)},
          {"array_history_max", absl::StrCat(settings.array_history_max)},
          {"refusals_max", absl::StrCat(settings.refusals.refusals_max)},
          {"requests_max", absl::StrCat(limits.requests_max)},
          {"waits_max", absl::StrCat(limits.waits_max)},
          {"watchers_max", absl::StrCat(limits.watchers_max)},
          {"watchers_per_peer_max", absl::StrCat(limits.watchers_per_peer_max)},
          {"watch_log_max", absl::StrCat(limits.watch_log_max)},
          {"agents_max", absl::StrCat(limits.agents_max)},
          {"questions_max", absl::StrCat(limits.questions_max)},
          {"backups_max", absl::StrCat(limits.backups_max)},
          {"page_max", absl::StrCat(limits.page_max)},
          {"ids_max", absl::StrCat(limits.ids_max)}};
}

TEST(LimitsPageTest, HasEachLimitWithItsDefault) { EXPECT_EQ(RowsOfThePage(), Defaults()); }

TEST(LimitsPageTest, HasEveryLimitOfTheConfiguration) {
  const std::map<std::string, std::string> rows = RowsOfThePage();
  const google::protobuf::Descriptor& config = *v1::SchedulerConfig::descriptor();
  for (int i = 0; i < config.field_count(); ++i) {
    const std::string& name = config.field(i)->name();
    EXPECT_TRUE(!absl::EndsWith(name, "_max") || rows.contains(name)) << name;
  }
  for (const auto& [name, value] : rows) {
    EXPECT_NE(config.FindFieldByName(name), nullptr) << name;
  }
}

}  // namespace
}  // namespace pipefill::scheduler
