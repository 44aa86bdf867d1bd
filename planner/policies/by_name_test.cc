#include "planner/policies/by_name.h"

#include <gtest/gtest.h>

#include <map>

#include "absl/strings/str_cat.h"

namespace pipefill {
namespace {

absl::StatusOr<std::unique_ptr<Policy>> Make(absl::string_view name) {
  return MakePolicyByName(name, [](const std::string& file) -> absl::StatusOr<std::string> {
    if (file == "/good.lua") return "function job(j) return -j.id end";
    return absl::NotFoundError(absl::StrCat(file, ": no such file"));
  });
}

TEST(PolicyByNameTest, EveryNameMakesThePolicyOfThatName) {
  for (const char* name : {"fifo", "sjf", "makespan", "edf", "fair", "throughput", "edf,sjf",
                           "fair,lua:/good.lua", "lua:/good.lua"}) {
    const auto policy = Make(name);
    ASSERT_TRUE(policy.ok()) << policy.status();
    EXPECT_EQ((*policy)->name(), name);
  }
}

TEST(PolicyByNameTest, UnknownNameListsTheKnownOnes) {
  const auto policy = Make("edf,lifo");
  EXPECT_EQ(policy.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(policy.status().message(),
            "no policy has the name \"lifo\"; known: fifo, sjf, makespan, edf, fair, throughput, "
            "lua:FILE, and several of them with commas in between");
}

TEST(PolicyByNameTest, ScriptThatCannotBeReadIsNamed) {
  EXPECT_EQ(Make("lua:/bad.lua").status().message(), "/bad.lua: no such file");
}

TEST(PolicyByNameTest, CompositionPutsScoresOneBehindTheOther) {
  PendingJob job{.id = JobId(7), .memory_bytes = 1, .not_before = std::nullopt};
  job.seconds_left = 5;
  job.deadline = Instant::FromNs(100);
  const auto policy = Make("edf,sjf");
  EXPECT_EQ((*policy)->ScoreJob(job, {}), (Score{-100, -5}));
}

}  // namespace
}  // namespace pipefill
