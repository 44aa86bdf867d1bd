#include "cli/sim/sim_command.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <filesystem>
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

  // The scenario with jobs of a trace in `format`, in a file that is named from the scenario on.
  void WriteScenarioWithTrace(const std::string& trace) {
    std::string text = kScenario;
    text.replace(text.find("\"jobs_at_start\": 12"), 19, absl::StrCat("\"trace\": ", trace));
    std::ofstream(file_) << text;
  }

  static void WritePacked(const std::string& path, const std::string& text) {
    gzFile file = gzopen(path.c_str(), "wb");
    gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
    gzclose(file);
  }

  std::string file_;
};

constexpr char kTrace[] =
    "; Version: 2.2\n"
    "1 0 0 600 1 -1 -1 1 -1 -1 1 7 -1 -1 -1 -1 -1 -1\n"
    "2 60 0 -1 1 -1 -1 1 -1 -1 5 7 -1 -1 -1 -1 -1 -1\n"
    "3 30 0 300 1 -1 -1 1 -1 -1 1 8 -1 -1 -1 -1 -1 -1\n"
    "4 30 0 300 64 -1 -1 1 -1 -1 1 8 -1 -1 -1 -1 -1 -1\n";

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

TEST_F(SimCommandTest, SaysWhatBecameOfEachRowOfATrace) {
  WritePacked(PathOf("swf.gz"), kTrace);
  WriteScenarioWithTrace(
      absl::StrCat("{\"format\": \"swf\", \"file\": \"SaysWhatBecameOfEachRowOfATrace.swf.gz\"}"));
  const Result result = Sim({"--sweep", "workload.trace.speed_up=1,2"});
  ASSERT_EQ(result.code, kExitOk) << result.err;
  const std::vector<std::string> lines = absl::StrSplit(result.out, '\n');
  EXPECT_EQ(lines[1],
            "SaysWhatBecameOfEachRowOfATrace.swf.gz: 4 rows, 2 used; skipped: 1 did not run, or to "
            "no end (line 3 first), 1 beyond gpus_max");
  EXPECT_TRUE(absl::StrContains(lines[2], "DONE")) << "told once for both runs";
  EXPECT_TRUE(absl::StrContains(result.out, "2/2"));
  const auto json = nlohmann::json::parse(Sim({"-o", "json"}).out);
  EXPECT_EQ(json["runs"][0]["trace"][0]["rows"], 4);
  EXPECT_EQ(json["runs"][0]["trace"][0]["used"], 2);
  EXPECT_EQ(json["runs"][0]["trace"][0]["skipped"]["no_run"], 1);
}

TEST_F(SimCommandTest, RunsThatTakeOtherPartsOfATraceEachSaySo) {
  std::ofstream(PathOf("swf")) << kTrace;
  WriteScenarioWithTrace(
      "{\"format\": \"swf\", \"file\": \"RunsThatTakeOtherPartsOfATraceEachSaySo.swf\"}");
  const Result result = Sim({"--sweep", "workload.trace.gpus_max=1,100"});
  ASSERT_EQ(result.code, kExitOk) << result.err;
  EXPECT_TRUE(absl::StrContains(result.out, ".swf: 4 rows, 2 used")) << result.out;
  EXPECT_TRUE(absl::StrContains(result.out, "workload.trace.gpus_max=100: RunsThat")) << result.out;
  EXPECT_TRUE(absl::StrContains(result.out, ".swf: 4 rows, 3 used")) << result.out;
}

TEST_F(SimCommandTest, RowsAreToldWithWhatTheirRunsHaveInCommon) {
  std::ofstream(PathOf("swf")) << kTrace;
  WriteScenarioWithTrace(
      "{\"format\": \"swf\", \"file\": \"RowsAreToldWithWhatTheirRunsHaveInCommon.swf\"}");
  const Result result =
      Sim({"--sweep", "policy=fifo,sjf", "--sweep", "workload.trace.gpus_max=1,100"});
  ASSERT_EQ(result.code, kExitOk) << result.err;
  const std::vector<std::string> lines = absl::StrSplit(result.out, '\n');
  EXPECT_TRUE(absl::StartsWith(lines[1], "workload.trace.gpus_max=1: RowsAre")) << lines[1];
  EXPECT_TRUE(absl::StartsWith(lines[2], "workload.trace.gpus_max=100: RowsAre")) << lines[2];
  EXPECT_TRUE(absl::StrContains(lines[3], "DONE")) << "each told once";
}

TEST_F(SimCommandTest, ATraceIsOnItsPageToo) {
  std::ofstream(PathOf("swf")) << kTrace;
  WriteScenarioWithTrace("{\"format\": \"swf\", \"file\": \"ATraceIsOnItsPageToo.swf\"}");
  const Result result = Sim({"--sweep", "workload.trace.speed_up=1,2", "--html", PathOf("html"),
                             "--svg", PathOf("pictures")});
  ASSERT_EQ(result.code, kExitOk) << result.err;
  std::ostringstream page;
  page << std::ifstream(PathOf("html")).rdbuf();
  EXPECT_TRUE(absl::StrContains(page.str(), "<li>ATraceIsOnItsPageToo.swf: 4 rows, 2 used"));
  EXPECT_TRUE(absl::StrContains(page.str(), "<td>workload.trace.speed_up</td><td>swept over</td>"));
  EXPECT_TRUE(std::ifstream(absl::StrCat(PathOf("pictures"), "/completion-by-speed_up.svg")));
}

TEST_F(SimCommandTest, FiguresAreNotLostWithAFileThatCannotBeWritten) {
  // The folder is made only for the pictures, and is then in the page's way.
  const std::string both = PathOf("both");
  const Result result = Sim({"--html", both, "--svg", both});
  EXPECT_NE(result.code, kExitOk);
  EXPECT_TRUE(absl::StrContains(result.out, "12/12")) << result.out;
}

TEST_F(SimCommandTest, WhereFilesCannotBeWrittenNothingIsSimulated) {
  for (const char* option : {"--html", "--csv"}) {
    // The policy would be found missing first by the runs.
    const Result result = Sim({"--set", "policy=no-such", option, "/no/such/folder/a"});
    EXPECT_EQ(result.code, kExitNotFound);
    EXPECT_EQ(result.err,
              "pipefill: folder /no/such/folder: No such file or directory; name a file where one "
              "can be written\n");
  }
}

TEST_F(SimCommandTest, TracesThatCannotBeReadAreOneLine) {
  std::ofstream(PathOf("empty"));
  std::ofstream(PathOf("other")) << "1 2 3\n";
  WritePacked(PathOf("cut"), std::string(kTrace) + std::string(100'000, 'x'));
  std::filesystem::resize_file(PathOf("cut"), 60);
  std::ofstream(PathOf("log")) << "[{\"attempts\": [";
  const std::string name = "TracesThatCannotBeReadAreOneLine.";
  struct Case {
    std::string format;
    std::string file;
    ExitCode code;
    std::string text;
  };
  for (const Case& one : std::vector<Case>{
           {"swf", "missing", kExitNotFound, "No such file"},
           {"swf", "empty", kExitUsage, "the file has no rows"},
           {"swf", "other", kExitUsage, "other:1: 3 columns where there are 18"},
           {"swf", "cut", kExitUsage, "the compressed file is cut off; copy it again"},
           {"philly", "log", kExitUsage, "log:1: cut off after 0 jobs"},
           {"csv", "other", kExitUsage, "workload.trace.columns.gpus"},
           {"pai", "other", kExitUsage, "workload.trace: format: \"pai\" is none of"}}) {
    WriteScenarioWithTrace(
        absl::StrCat("{\"format\": \"", one.format, "\", \"file\": \"", name, one.file, "\"}"));
    const Result result = Sim({});
    EXPECT_EQ(result.code, one.code) << result.err;
    EXPECT_EQ(result.out, "") << one.file;
    EXPECT_TRUE(absl::StrContains(result.err, one.text)) << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  }
  WriteScenarioWithTrace(
      "{\"format\": \"philly\", \"file\": \"x\", \"time_zone\": \"Middle/Earth\"}");
  EXPECT_TRUE(absl::StrContains(Sim({}).err, "workload.trace.time_zone: \"Middle/Earth\""));
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

TEST_F(SimCommandTest, SweepsThatBeginAtZeroAreDrawn) {
  const std::string folder = PathOf("pictures");
  for (const char* sweep : {"training.jitter=0,0.01,0.1", "workload.jobs_per_hour=0,10,100"}) {
    ASSERT_EQ(Sim({"--sweep", sweep, "--set", "horizon=2h", "--svg", folder}).code, kExitOk);
  }
  for (const char* name : {"gain-by-jitter", "gain-by-jobs_per_hour"}) {
    EXPECT_LT(std::filesystem::file_size(absl::StrCat(folder, "/", name, ".svg")), 50'000U) << name;
  }
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
