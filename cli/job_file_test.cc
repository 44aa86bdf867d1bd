#include "cli/job_file.h"

#include <gtest/gtest.h>

#include <string>

namespace pipefill {
namespace {

const absl::Time kNow = absl::FromUnixSeconds(1'800'000'000);

std::string ErrorOf(absl::string_view text) {
  const auto spec = ParseJobFile(text, "job.json", kNow);
  EXPECT_EQ(spec.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(spec.status().message());
}

TEST(JobFileTest, ReadsEveryField) {
  const auto spec = ParseJobFile(R"({
    "name": "embed", "command": ["python3", "embed.py"], "env": {"A": "1"},
    "workdir": "/data", "memory": "512MiB", "retries": 2,
    "profile": {"samples_total": 7}, "priority": -5, "tenant": "vision", "deadline": "2h",
    "min_runtime": "5m", "max_runtime": "3h", "evictable": false, "allow_infeasible": true,
    "labels": {"team": "vision"}, "start_before": "3h", "hold": true})",
                                 "job.json", kNow);

  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->name(), "embed");
  EXPECT_EQ(spec->command_size(), 2);
  EXPECT_EQ(spec->env().at("A"), "1");
  EXPECT_EQ(spec->workdir(), "/data");
  EXPECT_EQ(spec->memory_bytes(), 512 << 20);
  EXPECT_EQ(spec->retries(), 2);
  EXPECT_EQ(spec->profile().samples_total(), 7);
  EXPECT_EQ(spec->priority(), -5);
  EXPECT_EQ(spec->tenant(), "vision");
  EXPECT_EQ(spec->deadline_unix_ns(), absl::ToUnixNanos(kNow + absl::Hours(2)));
  EXPECT_EQ(spec->min_runtime_ns(), 300'000'000'000);
  EXPECT_EQ(spec->max_runtime_ns(), 10'800'000'000'000);
  EXPECT_TRUE(spec->not_evictable());
  EXPECT_TRUE(spec->allow_infeasible());
  EXPECT_EQ(spec->labels().at("team"), "vision");
  EXPECT_EQ(spec->start_before_unix_ns(), absl::ToUnixNanos(kNow + absl::Hours(3)));
  EXPECT_TRUE(spec->hold());
}

TEST(JobFileTest, WayIsSdkOrProcess) {
  EXPECT_EQ(ParseJobFile(R"({"command": ["xz"], "way": "process"})", "job.json", kNow)->way(),
            v1::FILL_WAY_PROCESS);
  EXPECT_EQ(ParseJobFile(R"({"command": ["xz"], "way": "sdk"})", "job.json", kNow)->way(),
            v1::FILL_WAY_UNSPECIFIED);
  EXPECT_EQ(ErrorOf("{\n\"command\": [\"xz\"],\n\"way\": \"magic\"}"),
            "job.json:3: way: \"magic\" is none; write sdk or process");
}

TEST(JobFileTest, UnknownFieldIsNamedWithItsLineAndASuggestion) {
  EXPECT_EQ(ErrorOf("{\n\"command\": [\"true\"],\n\"memroy\": \"1GiB\"}"),
            "job.json:3: memroy: no such field; did you mean memory?");
}

TEST(JobFileTest, WrongTypeIsNamedWithItsLine) {
  EXPECT_NE(ErrorOf("{\n\"command\": \"true\"}").find("job.json:2: command"), std::string::npos);
}

TEST(JobFileTest, BadMemoryIsNamedWithItsLine) {
  EXPECT_EQ(
      ErrorOf("{\n\"command\": [\"true\"],\n\"memory\": \"12Q\"}"),
      "job.json:3: memory: not a size: \"12Q\"; write for example 512MiB, 8GiB or 100000 (bytes)");
}

TEST(JobFileTest, LineIsThatOfTheFieldAndNotOfItsLookalikes) {
  const std::string text =
      "{\n"
      "  // \"memory\": a comment {\n"
      "  \"env\": {\"memory\": \"1\"},\n"
      "  \"command\": [\"memory\", \"a\\\"memory\\\": b\"],\n"
      "\n"
      "  \"memory\"\n"
      "    : \"12Q\"}";

  EXPECT_EQ(ErrorOf(text).substr(0, 19), "job.json:6: memory:");
}

TEST(JobFileTest, BrokenTextNamesTheFile) {
  EXPECT_EQ(ErrorOf("{\"command\": [\"true\",}").substr(0, 9), "job.json:");
}

TEST(JobFileTest, WhatIsNotSaidAboutPlanningIsLeftToTheScheduler) {
  const auto spec = ParseJobFile("{}", "job.json", kNow);
  ASSERT_TRUE(spec.ok());
  EXPECT_EQ(spec->priority(), 0);
  EXPECT_FALSE(spec->has_min_runtime_ns());
  EXPECT_FALSE(spec->not_evictable());
}

TEST(JobFileTest, BadTimesAreNamedWithTheirLine) {
  EXPECT_EQ(ErrorOf("{\n\"deadline\": \"tomorrow\"}"),
            "job.json:2: deadline: \"tomorrow\" is no time; write 2026-12-24T18:00:00Z, or 2h30m "
            "from now");
  EXPECT_EQ(ErrorOf("{\"min_runtime\": \"-5s\"}").substr(0, 25), "job.json:1: min_runtime: ");
  EXPECT_EQ(ErrorOf("{\"max_runtime\": \"-5s\"}").substr(0, 25), "job.json:1: max_runtime: ");
}

TEST(DeadlineTest, IsATimeOrFromNowOn) {
  EXPECT_EQ(*ParseDeadline("90s", kNow), kNow + absl::Seconds(90));
  EXPECT_EQ(*ParseDeadline("1970-01-01T00:01:00+00:00", kNow), absl::FromUnixSeconds(60));
}

}  // namespace
}  // namespace pipefill
