#include "cli/plan/plan_command.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "cli/command_line.h"
#include "cli/testing/command_fixture.h"

namespace pipefill {
namespace {

class PlanCommandTest : public CommandFixture {
 protected:
  PlanCommandTest() { entries.push_back({AddPlanCommand, "Start here"}); }

  // The words of `line`, which has no quotes.
  Result Plan(const std::string& line) {
    std::vector<std::string> words = {"plan"};
    for (const auto word : absl::StrSplit(line, ' ', absl::SkipEmpty())) words.emplace_back(word);
    return Run(words);
  }

  std::string Write(const std::string& name, const std::string& text) {
    const std::string path =
        absl::StrCat(testing::TempDir(), "/",
                     testing::UnitTest::GetInstance()->current_test_info()->name(), ".", name);
    std::ofstream(path) << text;
    return path;
  }

  static std::string Read(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
};

constexpr char kProfile[] = R"({"samples_total": 100000, "configurations": [
  {"name": "batch8", "batch_size": 8, "samples_per_pass": 8, "nodes": [{"time_ns": 4500000}]}]})";

TEST_F(PlanCommandTest, PrintsHeadlineTimelineAndBubblesWithoutASchedulerd) {
  scheduler.error = absl::UnavailableError("nobody should ask");
  const Result result = Plan("--pipeline 4x8@1f1b --forward 10ms");
  EXPECT_EQ(result.code, kExitOk) << result.err;
  EXPECT_TRUE(absl::StrContains(result.out, "27.3 % of it idle (model)"));
  EXPECT_TRUE(absl::StrContains(result.out, "\nstage 3 .......F"));
  EXPECT_TRUE(absl::StrContains(result.out, "STAGE  BUBBLE"));
  EXPECT_EQ(result.err, "");
  for (const auto line : absl::StrSplit(result.out, '\n')) EXPECT_LE(line.size(), 80u) << line;
}

TEST_F(PlanCommandTest, ForecastsAProfileAndAJobFileAlike) {
  const std::string profile = Write("profile.json", kProfile);
  const std::string job =
      Write("job.json",
            absl::StrCat(R"({"name": "embed", "command": ["x"], "memory": "1GiB", "profile": )",
                         kProfile, "}"));
  const Result one = Plan("--pipeline 4x8@1f1b --forward 10ms -o json --profile " + profile);
  const Result two = Plan("--pipeline 4x8@1f1b --forward 10ms -o json --job " + job);
  ASSERT_EQ(one.code, kExitOk) << one.err;
  ASSERT_EQ(two.code, kExitOk) << two.err;
  const auto first = nlohmann::json::parse(one.out)["fill"];
  const auto second = nlohmann::json::parse(two.out)["fill"];
  EXPECT_EQ(first["best"], second["best"]);
  EXPECT_EQ(first["total_samples_per_s"], second["total_samples_per_s"]);
  EXPECT_EQ(second["job"], "embed");
  EXPECT_EQ(first["budget_ppm"], 10'000);
  EXPECT_GT(first["seconds"]["mid"].get<double>(), 0);
}

TEST_F(PlanCommandTest, WritesPageAndPicture) {
  const std::string html = Write("html", "");
  const std::string svg = Write("svg", "");
  const Result result =
      Plan(absl::StrCat("--pipeline 4x8@1f1b --forward 10ms --html ", html, " --svg ", svg));
  ASSERT_EQ(result.code, kExitOk) << result.err;
  EXPECT_TRUE(absl::StrContains(Read(html), "<!doctype html>"));
  EXPECT_TRUE(absl::StartsWith(Read(svg), "<svg"));
}

TEST_F(PlanCommandTest, WrongUseIsOneLineAndExitCodeTwo) {
  for (const char* line :
       {"", "--pipeline 4x8", "--pipeline 4x8@1f2b --forward 1ms", "--pipeline 4x8@1f1b",
        "--pipeline 4x8@1f1b --forward soon", "--pipeline 4x8@1f1b --forward 1ms --chunks 2",
        "--pipeline 4x8@1f1b --forward 1ms --budget 200%",
        "--pipeline 4x8@1f1b --forward 1ms --samples 3",
        "--pipeline 4x8@1f1b --forward 1ms --gap-min 1ms"}) {
    const Result result = Plan(line);
    EXPECT_EQ(result.code, kExitUsage) << line;
    EXPECT_EQ(result.out, "") << line;
    EXPECT_TRUE(absl::StartsWith(result.err, "pipefill: ")) << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  }
}

TEST_F(PlanCommandTest, PlansFromATraceToo) {
  const std::string trace = Write("json", R"([
    {"ph":"X","cat":"gpu_user_annotation","name":"ProfilerStep#1","pid":0,"tid":7,"ts":0,"dur":100000},
    {"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":0,"dur":60000,
     "args":{"device":0,"stream":7}}])");
  const Result result = Plan("--trace " + trace);
  EXPECT_EQ(result.code, kExitOk) << result.err;
  EXPECT_TRUE(absl::StrContains(result.out, "40.0 % of it idle (measured in 1)")) << result.out;
  EXPECT_TRUE(absl::StrContains(result.out, "rank 0 gpu 0  tail")) << result.out;
  EXPECT_EQ(result.err, "");

  const Result filled =
      Plan(absl::StrCat("--trace ", trace, " --profile ", Write("profile.json", kProfile)));
  EXPECT_EQ(filled.code, kExitOk) << filled.err;
  EXPECT_TRUE(absl::StrContains(filled.err, "free memory is not known"));

  for (const char* more : {" --pipeline 2x4@1f1b", " --forward 1ms", " --stages-file x",
                           " --gap-min soon", " --gap-min 0s"}) {
    EXPECT_EQ(Plan(absl::StrCat("--trace ", trace, more)).code, kExitUsage) << more;
  }
}

TEST_F(PlanCommandTest, AFileThatIsNotThereAndAStageThatDoesNotFitHaveTheirOwnCodes) {
  EXPECT_EQ(Plan("--pipeline 2x4@1f1b --forward 1ms --profile /none.json").code, kExitNotFound);
  EXPECT_EQ(Plan("--pipeline 2x4@1f1b --stages-file /none.json").code, kExitNotFound);
  const Result result =
      Plan("--pipeline 2x4@gpipe --forward 1ms --memory 1GiB --activation 512MiB");
  EXPECT_EQ(result.code, kExitRefused);
  EXPECT_TRUE(absl::StrContains(result.err, "stage 0 does not fit its device")) << result.err;
}

}  // namespace
}  // namespace pipefill
