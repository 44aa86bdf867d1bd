#include "cli/sim/sim_command.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/command_line.h"
#include "cli/testing/command_fixture.h"

namespace pipefill {
namespace {

constexpr char kScenario[] = R"({
  "name": "small", "about": "for a test",
  "training": {"pipeline": "4x4@gpipe", "forward": "20ms", "memory_free": "4GiB"},
  "workload": {"jobs_at_start": 12, "classes": [
    {"name": "a", "unit": "2ms", "resident": "1GiB", "device_hours": 0.1}]},
  "horizon": "48h"})";

class SimCommandTest : public CommandFixture {
 protected:
  SimCommandTest() {
    entries.push_back({AddSimCommand, "Start here"});
    scheduler.error = absl::UnavailableError("nobody should ask");
    file_ = PathOf("json");
    std::ofstream(file_) << kScenario;
  }

  static std::string PathOf(const std::string& name) {
    return absl::StrCat(testing::TempDir(), "/",
                        testing::UnitTest::GetInstance()->current_test_info()->name(), ".", name);
  }

  Result Sim(std::vector<std::string> options) {
    options.insert(options.begin(), {"sim", file_});
    return Run(options);
  }

  std::string file_;
};

TEST_F(SimCommandTest, PrintsARowPerRunAndHowToSeeItAgain) {
  const Result result = Sim({"--sweep", "policy=fifo,sjf", "--seed", "3"});
  EXPECT_EQ(result.code, kExitOk) << result.err;
  EXPECT_TRUE(absl::StrContains(result.out, "small: for a test\n"));
  EXPECT_TRUE(absl::StrContains(result.out, "fifo"));
  EXPECT_TRUE(absl::StrContains(result.out, "12/12"));
  EXPECT_TRUE(absl::StrContains(result.err, "--seed 3 --sweep policy=fifo,sjf"));
  for (const auto line : absl::StrSplit(result.out, '\n')) EXPECT_LE(line.size(), 80U) << line;
}

TEST_F(SimCommandTest, JsonAndCsvHoldTheSameFigures) {
  const std::string csv = PathOf("csv");
  const Result result =
      Sim({"-o", "json", "--csv", csv, "--set", "training.replicas=2", "--set", "seed=7"});
  ASSERT_EQ(result.code, kExitOk) << result.err;
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["runs"][0]["devices"], 8);
  EXPECT_EQ(json["runs"][0]["seed"], 7);
  EXPECT_EQ(json["runs"][0]["jobs_completed"], 12);
  std::ostringstream text;
  text << std::ifstream(csv).rdbuf();
  const std::vector<std::string> lines = absl::StrSplit(text.str(), '\n');
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_TRUE(absl::StartsWith(lines[0], "policy,seed,devices,"));
  EXPECT_TRUE(absl::StartsWith(lines[1], "fifo,7,8,"));
}

TEST_F(SimCommandTest, WritesAPageAndItsPictures) {
  const std::string html = PathOf("html");
  const std::string folder = PathOf("pictures");
  const Result result = Sim({"--sweep", "policy=fifo,sjf", "--set", "training.replicas=2", "--html",
                             html, "--svg", folder});
  ASSERT_EQ(result.code, kExitOk) << result.err;
  std::ostringstream page;
  page << std::ifstream(html).rdbuf();
  EXPECT_TRUE(absl::StrContains(page.str(), "Simulated, not measured."));
  EXPECT_TRUE(absl::StrContains(page.str(), "--set training.replicas=2 --sweep policy=fifo,sjf"));
  EXPECT_TRUE(absl::StrContains(page.str(), "<td>training.replicas</td><td>2</td>"));
  EXPECT_TRUE(absl::StrContains(page.str(), "<td>policy</td><td>swept over</td>"));
  for (const char* name : {"completion-by-policy", "iteration", "devices", "devices-2"}) {
    std::ostringstream svg;
    svg << std::ifstream(absl::StrCat(folder, "/", name, ".svg")).rdbuf();
    EXPECT_TRUE(absl::StrContains(svg.str(), "</svg>")) << name;
  }
}

TEST_F(SimCommandTest, OfALongSweepTheFirstRunsAreDrawnByThemselves) {
  const std::string folder = PathOf("pictures");
  ASSERT_EQ(Sim({"--sweep", "seed=1,2,3,4,5,6", "--svg", folder}).code, kExitOk);
  EXPECT_TRUE(std::ifstream(absl::StrCat(folder, "/devices-4.svg")).good());
  EXPECT_FALSE(std::ifstream(absl::StrCat(folder, "/devices-5.svg")).good());
}

TEST_F(SimCommandTest, BadInputIsOneLine) {
  const std::vector<std::vector<std::string>> cases = {{"--set", "training.replica=2"},
                                                       {"--set", "replicas"},
                                                       {"--sweep", "policy"},
                                                       {"--sweep", "a+b=1"},
                                                       {"--set", "policy=no-such"},
                                                       {"--set", "horizon=later"},
                                                       {"--set", "training.pipeline=4"},
                                                       {"--html", "/no/such/folder/a.html"},
                                                       {"--svg", "/proc/no/folder"}};
  for (const auto& options : cases) {
    const Result result = Sim(options);
    EXPECT_NE(result.code, kExitOk) << options[1];
    EXPECT_EQ(result.out, "") << options[1];
    EXPECT_TRUE(absl::StartsWith(result.err, "pipefill: ")) << result.err;
  }
  file_ = "/no/such/file";
  EXPECT_TRUE(absl::StrContains(Sim({}).err, "/no/such/file"));
}

}  // namespace
}  // namespace pipefill
