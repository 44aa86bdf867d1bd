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
#include "common/plan_stages.h"

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

// --- In a cluster that is there ---

class LivePlanTest : public PlanCommandTest {
 protected:
  LivePlanTest() {
    v1::PlanJobResponse& plan = scheduler.plan;
    plan.mutable_job()->mutable_spec()->set_name("embed");
    plan.mutable_job()->mutable_pending()->set_place(1);
    plan.mutable_job()->mutable_pending()->set_waiting(3);
    plan.set_node("a");
    plan.set_device("cpu0");
    v1::PlanCandidate& best = AddStage(3, "a", 400);
    best.set_devices_free(1);
    v1::PlanNeighbour& neighbour = *best.add_neighbours();
    neighbour.set_job_id(7);
    neighbour.set_name("index");
    neighbour.set_finish_unix_ns(absl::ToUnixNanos(time.WallNow() + absl::Minutes(5)));
    AddStage(0, "b", 100).set_text("all 2 devices with a main job are taken: 2 of 2 seats");
  }

  v1::PlanCandidate& AddStage(int32_t stage, const std::string& node, double rate) {
    v1::PlanCandidate& candidate = *scheduler.plan.add_candidates();
    candidate.set_main_job("gpt");
    candidate.set_stage(stage);
    candidate.set_devices(2);
    candidate.set_node(node);
    candidate.set_device("cpu0");
    v1::Forecast& forecast = *candidate.mutable_forecast();
    forecast.set_rate(rate);
    forecast.set_rate_low(rate / 2);
    forecast.set_rate_high(rate * 2);
    forecast.set_configuration("batch8");
    forecast.set_finish_unix_ns(absl::ToUnixNanos(time.WallNow() + absl::Seconds(100'000 / rate)));
    forecast.set_finish_earliest_unix_ns(absl::ToUnixNanos(time.WallNow() + absl::Seconds(60)));
    forecast.set_text("from its profile, 1 bubbles of a/cpu0");
    return candidate;
  }

  std::string JobFile() {
    return Write("job.json",
                 absl::StrCat(R"({"name": "embed", "command": ["x"], "profile": )", kProfile, "}"));
  }
};

TEST_F(LivePlanTest, AJobAloneAsksSchedulerdAndSubmitsNothing) {
  const Result result = Plan("--job " + JobFile());
  EXPECT_EQ(result.code, kExitOk) << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(result.out,
            "embed would start now on a/cpu0 (gpt, stage 3)\n"
            "  in line        1 of 3, priority 0\n"
            "  beside         job 7 (index), done in 5m0s\n"
            "  rate           400 samples/s, between 200 and 800\n"
            "  done           in 4m10s, at least 1m0s\n"
            "  configuration  batch8\n"
            "  source         from its profile, 1 bubbles of a/cpu0\n"
            "\n"
            "MAIN JOB  STAGE  FREE  DEVICE  RATE/S  LOW  HIGH  DONE IN  CONFIGURATION\n"
            "gpt           3   1/2  a/cpu0     400  200   800    4m10s  batch8\n"
            "gpt           0   0/2  b/cpu0     100   50   200   16m40s  batch8\n"
            "  gpt 0  all 2 devices with a main job are taken: 2 of 2 seats\n");
  EXPECT_TRUE(scheduler.submitted.empty());
  ASSERT_EQ(scheduler.planned.size(), 1U);
  EXPECT_EQ(scheduler.planned[0].spec().name(), "embed");
  EXPECT_EQ(scheduler.planned[0].candidates_max(), 0);
}

TEST_F(LivePlanTest, ProfileSamplesAndAllGoOverTheJobFile) {
  const std::string profile = Write("other.json", R"({"configurations": [
      {"name": "other", "samples_per_pass": 1, "nodes": [{"time_ns": 1000000}]}]})");
  const Result result =
      Plan(absl::StrCat("--all --samples 77 --profile ", profile, " --job ", JobFile()));
  ASSERT_EQ(result.code, kExitOk) << result.err;
  const v1::PlanJobRequest& asked = scheduler.planned.at(0);
  EXPECT_EQ(asked.spec().profile().configurations(0).name(), "other");
  EXPECT_EQ(asked.spec().profile().samples_total(), 77);
  EXPECT_EQ(asked.candidates_max(), kPlanStagesMax);
}

TEST_F(LivePlanTest, AJobThatWouldWaitIsExplainedAsWhyDoes) {
  v1::PlanJobResponse& plan = scheduler.plan;
  plan.clear_node();
  plan.clear_device();
  plan.mutable_job()->mutable_pending()->set_rule("needs 2 GiB; the most that is free is 1 GiB");
  plan.mutable_job()->mutable_pending()->set_need_bytes(int64_t{2} << 30);
  plan.mutable_job()->mutable_pending()->set_have_bytes(int64_t{1} << 30);
  plan.mutable_job()->mutable_pending()->add_help("would start now with 1 GiB less, on a/cpu0");
  plan.set_candidates_left_out(14);
  plan.add_notes("it would be held; this is as if it were not");
  const Result result = Plan("--job " + JobFile());
  EXPECT_EQ(result.code, kExitOk);
  EXPECT_TRUE(absl::StartsWith(result.out,
                               "embed would wait\n"
                               "  rule        needs 2 GiB; the most that is free is 1 GiB\n"
                               "  need        2 GiB\n"))
      << result.out;
  EXPECT_TRUE(absl::StrContains(result.out, "in line     1 of 3, priority 0\n")) << result.out;
  EXPECT_TRUE(absl::StrContains(result.out, "14 stages more; --all shows them\n"));
  EXPECT_EQ(result.err, "pipefill: note: it would be held; this is as if it were not\n");
}

TEST_F(LivePlanTest, SaysWhatOfTheStagesThatAreLeftOutCanBeHad) {
  scheduler.plan.set_candidates_left_out(300);
  const Result some = Plan("--job " + JobFile());
  EXPECT_TRUE(absl::EndsWith(some.out, "300 stages more; --all shows 254 of them\n")) << some.out;
  const Result all = Plan("--all --job " + JobFile());
  EXPECT_TRUE(absl::EndsWith(all.out, "300 stages more, beyond those that a plan looks at\n"))
      << all.out;
}

TEST_F(LivePlanTest, AJobThatWouldWaitWithoutARateIsToldWhyThereIsNone) {
  v1::PlanJobResponse& plan = scheduler.plan;
  plan.clear_node();
  plan.clear_device();
  const std::string line = "  no rate";
  EXPECT_FALSE(absl::StrContains(Plan("--job " + JobFile()).out, line));
  for (v1::PlanCandidate& candidate : *plan.mutable_candidates()) {
    candidate.mutable_forecast()->Clear();
    candidate.mutable_forecast()->set_text("no profile");
  }
  const std::string out = Plan("--job " + JobFile()).out;
  EXPECT_TRUE(absl::StrContains(out, line)) << out;
  EXPECT_TRUE(absl::StrContains(out, "no profile\n")) << out;
}

TEST_F(LivePlanTest, SaysWhomItWouldHaveEvicted) {
  v1::PlanJobResponse& plan = scheduler.plan;
  plan.clear_node();
  plan.clear_device();
  plan.set_evicting_node("b");
  plan.set_evicting_device("cpu0");
  plan.add_evicted_job_ids(7);
  const Result result = Plan("--job " + JobFile());
  EXPECT_TRUE(absl::StartsWith(
      result.out, "embed would start on b/cpu0 (gpt, stage 0) once job 7 is evicted\n"))
      << result.out;
}

TEST_F(LivePlanTest, JsonHasAllOfIt) {
  const Result result = Plan("-o json --job " + JobFile());
  ASSERT_EQ(result.code, kExitOk) << result.err;
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["device"], "a/cpu0");
  EXPECT_EQ(json["pending"]["place"], 1);
  EXPECT_EQ(json["candidates"][0]["forecast"]["rate"], 400);
  EXPECT_EQ(json["candidates"][0]["neighbours"][0]["job_id"], 7);
  EXPECT_EQ(json["candidates"][1]["text"], "all 2 devices with a main job are taken: 2 of 2 seats");
  EXPECT_EQ(json["candidates_left_out"], 0);
}

TEST_F(LivePlanTest, WhatCannotBeAskedHasTheUsualCodes) {
  EXPECT_EQ(Plan("--job /none.json").code, kExitNotFound);
  for (const char* more : {"--forward 1ms", "--budget 2%", "--html x", "--gap-min 1ms"}) {
    EXPECT_EQ(Plan(absl::StrCat("--job ", JobFile(), " ", more)).code, kExitUsage) << more;
  }
  EXPECT_TRUE(scheduler.planned.empty());
  scheduler.error = absl::ResourceExhaustedError("memory 2 GiB is more than any device has");
  EXPECT_EQ(Plan("--job " + JobFile()).code, kExitRefused);
  scheduler.error = absl::UnavailableError("schedulerd does not answer");
  const Result away = Plan("--job " + JobFile());
  EXPECT_EQ(away.code, kExitUnavailable);
  EXPECT_EQ(away.err, "pipefill: schedulerd does not answer\n");
}

}  // namespace
}  // namespace pipefill
