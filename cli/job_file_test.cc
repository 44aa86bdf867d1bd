#include "cli/job_file.h"

#include <gtest/gtest.h>

#include <string>

namespace pipefill {
namespace {

std::string ErrorOf(absl::string_view text) {
  const auto spec = ParseJobFile(text, "job.json");
  EXPECT_EQ(spec.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(spec.status().message());
}

TEST(JobFileTest, ReadsEveryField) {
  const auto spec = ParseJobFile(R"({
    "name": "embed", "command": ["python3", "embed.py"], "env": {"A": "1"},
    "workdir": "/data", "memory": "512MiB", "retries": 2,
    "profile": {"samples_total": 7}})",
                                 "job.json");

  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->name(), "embed");
  EXPECT_EQ(spec->command_size(), 2);
  EXPECT_EQ(spec->env().at("A"), "1");
  EXPECT_EQ(spec->workdir(), "/data");
  EXPECT_EQ(spec->memory_bytes(), 512 << 20);
  EXPECT_EQ(spec->retries(), 2);
  EXPECT_EQ(spec->profile().samples_total(), 7);
}

TEST(JobFileTest, WayIsSdkOrProcess) {
  EXPECT_EQ(ParseJobFile(R"({"command": ["xz"], "way": "process"})", "job.json")->way(),
            v1::FILL_WAY_PROCESS);
  EXPECT_EQ(ParseJobFile(R"({"command": ["xz"], "way": "sdk"})", "job.json")->way(),
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

}  // namespace
}  // namespace pipefill
