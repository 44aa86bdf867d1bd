#include "cli/report/report_command.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/command_line.h"
#include "cli/report/testing/trace_builder.h"
#include "common/files.h"
#include "common/virtual_time.h"

namespace pipefill {
namespace {

constexpr size_t kPieceBytes = 1000;  // small, so that reading takes several pieces

// A schedulerd that only has devices, jobs and traces.
class FakeScheduler : public SchedulerClient {
 public:
  absl::StatusOr<v1::ReadContentResponse> ReadContent(
      const v1::ReadContentRequest& request) override {
    const auto found = traces.find(request.node());
    if (found == traces.end()) return absl::UnavailableError("its agent is away");
    ++reads;
    v1::ReadContentResponse response;
    const std::string& bytes = found->second;
    auto offset = static_cast<size_t>(request.offset());
    if (reads == skip_at_read) offset += 500;
    response.set_data(bytes.substr(offset, kPieceBytes));
    response.set_next_offset(static_cast<int64_t>(offset + response.data().size()));
    response.set_at_end(static_cast<size_t>(response.next_offset()) == bytes.size());
    return response;
  }
  absl::StatusOr<v1::ListJobsResponse> ListJobs(const v1::ListJobsRequest&) override {
    return jobs;
  }
  absl::StatusOr<v1::ListDevicesResponse> ListDevices() override {
    v1::ListDevicesResponse response;
    for (const std::string& node : nodes) {
      response.add_devices()->set_node(node);
      response.add_devices()->set_node(node);
    }
    return response;
  }
  absl::StatusOr<v1::SubmitJobResponse> SubmitJob(const v1::SubmitJobRequest&) override {
    return absl::UnimplementedError("");
  }
  absl::StatusOr<v1::PlanJobResponse> PlanJob(const v1::PlanJobRequest&) override {
    return absl::UnimplementedError("");
  }
  absl::StatusOr<v1::Job> GetJob(JobId) override { return absl::UnimplementedError(""); }
  absl::StatusOr<v1::Job> MoveJob(const v1::MoveJobRequest&) override {
    return absl::UnimplementedError("");
  }
  absl::StatusOr<v1::Job> CancelJob(JobId) override { return absl::UnimplementedError(""); }
  absl::StatusOr<v1::ControlJobsResponse> ControlJobs(const v1::ControlJobsRequest&) override {
    return absl::UnimplementedError("");
  }
  absl::StatusOr<v1::Job> WaitJob(JobId, absl::Duration) override {
    return absl::UnimplementedError("");
  }
  absl::Status WatchJobs(const v1::WatchJobsRequest&, absl::Duration,
                         const WatchVisitor&) override {
    return absl::UnimplementedError("");
  }
  absl::StatusOr<v1::ListBubblesResponse> ListBubbles(absl::string_view) override {
    return absl::UnimplementedError("");
  }
  absl::StatusOr<v1::MainJobSettings> UpdateMainJob(const v1::UpdateMainJobRequest&) override {
    return absl::UnimplementedError("");
  }
  absl::StatusOr<v1::ListMainJobsResponse> ListMainJobs() override {
    return absl::UnimplementedError("");
  }
  absl::StatusOr<v1::GetStatusResponse> GetStatus() override {
    return absl::UnimplementedError("");
  }
  absl::Status Backup(const BytesVisitor&) override { return absl::UnimplementedError(""); }

  std::vector<std::string> nodes = {"n1"};
  std::map<std::string, std::string> traces;
  v1::ListJobsResponse jobs;
  int reads = 0;
  int skip_at_read = 0;  // bytes are given up before this read
};

class ReportCommandTest : public ::testing::Test {
 protected:
  struct Result {
    ExitCode code;
    std::string out;
    std::string err;
  };

  ReportCommandTest() {
    scheduler.traces["n1"] = SmallRun().bytes();
    v1::Job& job = *scheduler.jobs.add_jobs();
    job.set_id(1);
    job.set_state(v1::JOB_STATE_SUCCEEDED);
    job.add_attempts()->set_state(v1::ATTEMPT_STATE_ENDED);
    job.mutable_attempts(0)->set_end_cause(v1::END_CAUSE_EXITED);
    folder = ::testing::TempDir() + "report_command_test/";
    std::filesystem::create_directories(folder);
  }

  Result Run(std::vector<std::string> words) {
    if (std::find(words.begin(), words.end(), "--skip-first") == words.end()) {
      words.insert(words.begin(), {"--skip-first", "4"});
    }
    words.insert(words.begin(), "report");
    std::istringstream in;
    std::ostringstream out;
    std::ostringstream err;
    VirtualTime time;
    CommandContext context = {
        .in = in,
        .out = out,
        .err = err,
        .clock = time,
        .pause = [](absl::Duration) {},
        .connect = [this](const std::string&) -> absl::StatusOr<std::unique_ptr<SchedulerClient>> {
          std::unique_ptr<SchedulerClient> client = std::make_unique<FakeScheduler>(scheduler);
          return client;
        },
        .working_folder = folder,
    };
    const ExitCode code = RunCommandLine(words, {{AddReportCommand, "Cluster"}}, context);
    return {code, out.str(), err.str()};
  }

  void Write(const std::string& name, const std::string& text) {
    ASSERT_TRUE(WriteFileAtomically(folder + name, text).ok());
  }

  FakeScheduler scheduler;
  std::string folder;
};

TEST_F(ReportCommandTest, PrintsTheTableForPeople) {
  const Result result = Run({});
  EXPECT_EQ(result.code, kExitOk) << result.err;
  EXPECT_TRUE(absl::StartsWith(result.out, "main job gpt: 2 devices, 2 stages, 40 iterations\n"));
  EXPECT_TRUE(
      absl::StrContains(result.out, "\njob_ends_once              1           0            0\n"));
  EXPECT_EQ(result.err, "");
}

TEST_F(ReportCommandTest, PrintsJsonForPrograms) {
  const Result result = Run({"-o", "json"});
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_NEAR(json["slowdown"].get<double>(), 0.01, 1e-9);
  EXPECT_EQ(json["checked"]["job_ends_once"].get<int>(), 1);
}

TEST_F(ReportCommandTest, ReadsARunAlone) {
  Write("alone.json", R"({"units": 4, "unit_cpu_ns": 40000000, "sha256": "00"})");
  const Result result = Run({"-o", "json", "--alone", "job1=alone.json"});
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["jobs"][0]["exclusive_equivalent_ns"].get<int64_t>(), 19 * 10'000'000);
}

TEST_F(ReportCommandTest, RefusesWhatIsNoRunAlone) {
  Write("alone.json", R"({"units": 0})");
  const Result result = Run({"--alone", "job1=alone.json"});
  EXPECT_EQ(result.code, kExitUsage);
  EXPECT_EQ(result.err,
            absl::StrCat("pipefill: no run of a job alone: file=", folder,
                         "alone.json; it needs {\"units\": N, \"unit_cpu_ns\": TOTAL} with "
                         "N above 0\n"));
  EXPECT_EQ(Run({"--alone", "job1"}).code, kExitUsage);
  EXPECT_EQ(Run({"--alone", "job1=nowhere.json"}).code, kExitNotFound);
}

TEST_F(ReportCommandTest, WritesPageAndPicture) {
  const Result result = Run({"--html", "report.html", "--svg", "piece.svg"});
  EXPECT_EQ(result.code, kExitOk) << result.err;
  EXPECT_TRUE(absl::StrContains(*ReadFile(folder + "report.html"), "<!doctype html>"));
  EXPECT_TRUE(absl::StrContains(*ReadFile(folder + "piece.svg"), "</svg>"));
}

TEST_F(ReportCommandTest, WritesTheTraceForOtherViewers) {
  const Result result = Run({"--perfetto", "trace.json"});
  EXPECT_EQ(result.code, kExitOk) << result.err;
  EXPECT_TRUE(absl::StrContains(*ReadFile(folder + "trace.json"), "\"iteration 2"));
  EXPECT_FALSE(ReadFile(folder + "trace.json.part").ok());
  const Result failed = Run({"--perfetto", "nowhere/trace.json"});
  EXPECT_NE(failed.code, kExitOk);
  EXPECT_EQ(failed.err, absl::StrCat("pipefill: cannot write: ", folder,
                                     "nowhere/trace.json; check that its folder exists and has "
                                     "room\n"));
}

TEST_F(ReportCommandTest, FailsOnAViolationOnlyWhenAskedTo) {
  TraceBuilder builder = SmallRun();
  builder.AddSample(1, 100, 101);
  scheduler.traces["n1"] = builder.bytes();
  EXPECT_EQ(Run({}).code, kExitOk);
  EXPECT_EQ(Run({"--check"}).code, kExitFailure);
}

TEST_F(ReportCommandTest, HoldsJobsThatHaveNotEndedAgainstARunThatIsOver) {
  scheduler.jobs.add_jobs()->set_id(2);
  EXPECT_EQ(Run({"--check"}).code, kExitOk);
  EXPECT_EQ(Run({"--check", "--ended"}).code, kExitFailure);
}

TEST_F(ReportCommandTest, ReadsTraceFilesWithoutAScheduler) {
  scheduler.nodes.clear();
  Write("trace.pb", SmallRun().bytes());
  const Result result = Run({"--trace", "trace.pb"});
  EXPECT_EQ(result.code, kExitOk) << result.err;
  EXPECT_TRUE(absl::StrContains(result.out, "the scheduler's job list was not given"));
}

TEST_F(ReportCommandTest, ReadsBothHalvesOfAnAgentsTraceFolder) {
  const std::string bytes = SmallRun().bytes();
  std::filesystem::create_directories(folder + "trace");
  Write("trace/trace.1.pb", bytes.substr(0, bytes.size() / 2));
  Write("trace/trace.pb", bytes.substr(bytes.size() / 2));
  const Result result = Run({"--trace", "trace"});
  EXPECT_TRUE(absl::StartsWith(result.out, "main job gpt: 2 devices, 2 stages, 40 iterations\n"));
}

TEST_F(ReportCommandTest, GoesOnWithoutANodeThatIsAway) {
  scheduler.nodes = {"n0", "n1"};
  const Result result = Run({});
  EXPECT_EQ(result.code, kExitOk);
  EXPECT_EQ(result.err, "pipefill: no trace from n0: its agent is away\n");
}

TEST_F(ReportCommandTest, SaysThatNoAgentIsConnected) {
  scheduler.nodes.clear();
  const Result result = Run({});
  EXPECT_EQ(result.code, kExitConflict);
  EXPECT_TRUE(absl::StrContains(result.err, "no agent is connected"));
  scheduler.nodes = {"n0"};
  EXPECT_EQ(Run({}).code, kExitUnavailable);
}

TEST_F(ReportCommandTest, ReadsAgainWhenBytesWereGivenUpMeanwhile) {
  scheduler.skip_at_read = 3;
  const Result result = Run({});
  EXPECT_TRUE(absl::StartsWith(result.out, "main job gpt: 2 devices, 2 stages, 40 iterations\n"));
  EXPECT_FALSE(absl::StrContains(result.out, "torn tail"));
}

TEST_F(ReportCommandTest, IterationsToLeaveOutAreAWholeNumber) {
  const Result result = Run({"--skip-first", "-1"});
  EXPECT_EQ(result.code, kExitUsage);
  EXPECT_EQ(result.err, "pipefill: --skip-first: not a number: -1; write a whole number from 0\n");
}

TEST_F(ReportCommandTest, HelpFitsEightyColumns) {
  const Result result = Run({"--help"});
  EXPECT_EQ(result.code, kExitOk);
  for (const absl::string_view line : absl::StrSplit(result.out, '\n')) {
    EXPECT_LE(line.size(), 80U) << std::string(line);
  }
}

TEST_F(ReportCommandTest, NamesTheMainJobsThereAre) {
  const Result result = Run({"--main", "bert"});
  EXPECT_EQ(result.code, kExitNotFound);
  EXPECT_EQ(result.err, "pipefill: no iteration of main job bert in the trace; it has: gpt\n");
}

}  // namespace
}  // namespace pipefill
