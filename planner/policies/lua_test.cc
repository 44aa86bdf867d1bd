#include "planner/policies/lua.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pipefill {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::unique_ptr<Policy> Loaded(const std::string& text) {
  auto policy = LuaPolicy::Load(text, "site.lua");
  EXPECT_TRUE(policy.ok()) << policy.status();
  return *std::move(policy);
}

std::string LoadError(const std::string& text) {
  return std::string(LuaPolicy::Load(text, "site.lua").status().message());
}

PendingJob SomeJob() {
  PendingJob job{.id = JobId(7), .memory_bytes = 300, .not_before = std::nullopt};
  job.priority = -2;
  job.tenant = "vision";
  job.seconds_left = 12.5;
  job.deadline = Instant::FromNs(3'000'000'000);
  return job;
}

// What goes wrong when the script scores a job.
std::string ErrorOf(const std::string& body) {
  const auto policy = Loaded("function job(j)\n" + body + "\nend");
  policy->ScoreJob(SomeJob(), {});
  return std::string(policy->error().message());
}

TEST(LuaPolicyTest, JobFunctionSeesEveryField) {
  const auto policy = Loaded(
      "function job(j) return j.id + j.priority, j.memory_bytes, j.seconds_left, "
      "j.deadline + #j.tenant end");
  EXPECT_EQ(policy->ScoreJob(SomeJob(), {}), (Score{5, 300, 12.5, 9}));
  EXPECT_TRUE(policy->error().ok());
}

TEST(LuaPolicyTest, WhatIsNotKnownIsNil) {
  const auto policy =
      Loaded("function job(j) return j.seconds_left or 1, j.deadline == nil and 2 or 3 end");
  EXPECT_EQ(policy->ScoreJob({.id = JobId(1), .memory_bytes = 1, .not_before = std::nullopt}, {}),
            (Score{1, 2}));
}

TEST(LuaPolicyTest, DeviceFunctionSeesEveryField) {
  const auto policy = Loaded(
      "function job(j) return 0 end\n"
      "function device(d) return d.memory_bytes + d.memory_free_bytes, d.resident * 10 + "
      "d.resident_limit, d.bubble_share - d.filled_share, d.load_seconds + #d.node + #d.name end");
  DeviceSnapshot device{.key = {"a", "cpu0"},
                        .memory_bytes = 100,
                        .memory_free_bytes = 30,
                        .resident = 1,
                        .resident_limit = 2,
                        .main_job = MainJobUse::kFilled};
  device.bubble_share = 0.5;
  device.filled_share = 0.25;
  device.load_seconds = 60;
  EXPECT_EQ(policy->ScoreDevice(device), (Score{130, 12, 0.25, 65}));
}

TEST(LuaPolicyTest, WithoutADeviceFunctionDevicesAreEqual) {
  EXPECT_EQ(Loaded("function job(j) return 0 end")->ScoreDevice({}), Score());
}

TEST(LuaPolicyTest, ScriptThatIsNoneIsRefusedWithItsLine) {
  EXPECT_THAT(LoadError("function job(j)\nreturn 1 1\nend"), StartsWith("site.lua:2: "));
  EXPECT_THAT(LoadError("x = nil + 1"), StartsWith("site.lua:1: "));
  EXPECT_EQ(LoadError("x = 1"), "site.lua: defines no function job(j), which scores a waiting job");
  EXPECT_EQ(LoadError("function job(j) return 1 end device = 3"),
            "site.lua: device is no function");
  EXPECT_THAT(LoadError("\x1bLua"), HasSubstr("attempt to load a binary chunk"));
}

TEST(LuaPolicyTest, FailureNamesFileAndLineAndStays) {
  const auto policy = Loaded(
      "function job(j)\n"
      "  if j.id == 7 then return j.nothing + 1 end\n"
      "  return 1\n"
      "end");
  PendingJob other = SomeJob();
  other.id = JobId(8);
  EXPECT_EQ(policy->ScoreJob(other, {}), Score{1});
  EXPECT_EQ(policy->ScoreJob(SomeJob(), {}), Score{0});
  EXPECT_THAT(std::string(policy->error().message()), StartsWith("site.lua:2: "));
  EXPECT_EQ(policy->ScoreJob(other, {}), Score{0});
}

TEST(LuaPolicyTest, ResultMustBeFiniteNumbersAndAsManyEachTime) {
  EXPECT_EQ(ErrorOf(""), "site.lua: function job must return 1 to 4 numbers");
  EXPECT_EQ(ErrorOf("return 1, 2, 3, 4, 5"), "site.lua: function job must return 1 to 4 numbers");
  EXPECT_EQ(ErrorOf("return '1'"), "site.lua: function job returned something that is no number");
  EXPECT_EQ(ErrorOf("return 0/0"), "site.lua: function job returned a number that is not finite");
  EXPECT_EQ(ErrorOf("return math.huge"),
            "site.lua: function job returned a number that is not finite");
  const auto policy = Loaded("function job(j) if j.id == 7 then return 1 end return 1, 2 end");
  policy->ScoreJob(SomeJob(), {});
  PendingJob other = SomeJob();
  other.id = JobId(8);
  policy->ScoreJob(other, {});
  EXPECT_EQ(policy->error().message(),
            "site.lua: function job must return as many numbers each time");
}

TEST(LuaPolicyTest, EndlessLoopIsStoppedAndNamed) {
  EXPECT_EQ(ErrorOf("while true do end"), "site.lua:2: more than 10000 steps in one call");
  EXPECT_THAT(LoadError("while true do end"),
              HasSubstr("site.lua:1: more than 10000 steps in one call"));
}

TEST(LuaPolicyTest, MemoryIsBounded) {
  EXPECT_EQ(ErrorOf("local s = 'xxxxxxxx'\nfor i = 1, 40 do s = s .. s end\nreturn #s"),
            "site.lua: more than 1048576 bytes of memory in one call");
}

TEST(LuaPolicyTest, NothingReachesTheWorldOrCatchesALimit) {
  for (const char* name :
       {"io",           "os",          "require",      "load",           "loadstring",
        "loadfile",     "dofile",      "debug",        "package",        "coroutine",
        "pcall",        "xpcall",      "print",        "collectgarbage", "setmetatable",
        "getmetatable", "pairs",       "next",         "rawset",         "rawget",
        "_G",           "math.random", "string.rep",   "string.find",    "string.format",
        "string.dump",  "table.move",  "table.concat", "('x').rep"}) {
    const auto policy =
        Loaded(std::string("function job(j) return ") + name + " == nil and 1 or 0 end");
    EXPECT_EQ(policy->ScoreJob(SomeJob(), {}), Score{1}) << name;
  }
}

}  // namespace
}  // namespace pipefill
