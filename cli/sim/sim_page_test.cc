#include "cli/sim/sim_page.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "cli/sim/testing/made_up_outcomes.h"

namespace pipefill {
namespace {

SimSweep Sweep(const std::string& field, const std::vector<std::string>& values) {
  SimSweep sweep{.fields = {field}, .values = {}};
  for (const std::string& value : values) sweep.values.push_back({value});
  return sweep;
}

std::set<std::string> NamesOf(const std::vector<SimPicture>& pictures) {
  std::set<std::string> names;
  for (const SimPicture& picture : pictures) names.insert(picture.name);
  return names;
}

std::vector<SimPicture> Pictures(const std::vector<SimSweep>& sweeps,
                                 const std::vector<SimOutcome>& outcomes) {
  const auto pictures = SimPictures(sweeps, outcomes);
  EXPECT_TRUE(pictures.ok()) << pictures.status();
  return *pictures;
}

std::string SvgOf(const std::vector<SimPicture>& pictures, const std::string& name) {
  for (const SimPicture& picture : pictures) {
    if (picture.name == name) return picture.svg;
  }
  return "";
}

using Names = std::set<std::string>;

TEST(SimPicturesTest, ASingleRunShowsItsBubblesItsJobsAndOneIteration) {
  const std::vector<SimPicture> pictures = Pictures({}, {MadeUpOutcome()});
  EXPECT_EQ(NamesOf(pictures),
            (Names{"filled-by-class", "completion-times", "iteration", "devices"}));
  EXPECT_TRUE(absl::StrContains(SvgOf(pictures, "filled-by-class"),
                                "tail: 40.0 % of the devices&#39; time, 65.0 % of it filled"));
  EXPECT_TRUE(absl::StrContains(SvgOf(pictures, "devices"), "job 7, embed: 0.00 to 2.00 h"));
}

TEST(SimPicturesTest, AnIterationShowsTheWindowOfEachBubbleThatUnitsFill) {
  SimOutcome outcome = MadeUpOutcome();
  outcome.training.rule.static_share = 0.5;
  const std::string svg = SvgOf(Pictures({}, {outcome}), "iteration");
  // Stage 0 of two in GPipe waits 30 ms for the first gradient; the hand-over takes a unit's place.
  EXPECT_TRUE(absl::StrContains(svg, "<title>bubble middle 2, 14 units, 30 ms</title>")) << svg;
  EXPECT_TRUE(absl::StrContains(svg, "<title>fill job embed, 14 ms</title>"));
}

TEST(SimPicturesTest, SizesAreDrawnAgainstDevicesWithAndWithoutFilling) {
  const SimSweep sweep = Sweep("training.replicas", {"1", "2"});
  std::vector<SimOutcome> outcomes = MadeUpOutcomes({sweep});
  outcomes[1].result.devices = 128;
  const std::vector<SimPicture> pictures = Pictures({sweep}, outcomes);
  EXPECT_TRUE(NamesOf(pictures).contains("gain-by-size"));
  const std::string use = SvgOf(pictures, "use-by-size");
  EXPECT_TRUE(absl::StrContains(use, "main job alone"));
  EXPECT_TRUE(absl::StrContains(use, "with filling"));
}

TEST(SimPicturesTest, SizesOfSeveralSchedulesAreLinesOfTheirOwn) {
  const SimSweep sweep = Sweep("training.pipeline", {"a", "b", "c", "d"});
  std::vector<SimOutcome> outcomes = MadeUpOutcomes({sweep});
  for (const size_t i : {1U, 3U}) {
    outcomes[i].training.pipeline.shape.schedule = simulator::Schedule::kOneForwardOneBackward;
  }
  for (const size_t i : {2U, 3U}) outcomes[i].result.devices = 128;
  const std::string svg = SvgOf(Pictures({sweep}, outcomes), "gain-by-size");
  EXPECT_TRUE(absl::StrContains(svg, ">gpipe</text>"));
  EXPECT_TRUE(absl::StrContains(svg, ">1f1b</text>"));
}

TEST(SimPicturesTest, PoliciesAreComparedByTheirTimesAtEveryLoad) {
  const std::vector<SimSweep> sweeps = {Sweep("policy", {"fifo", "sjf"}),
                                        Sweep("workload.jobs_at_start", {"10", "20"})};
  const std::vector<SimPicture> pictures = Pictures(sweeps, MadeUpOutcomes(sweeps));
  const Names names = NamesOf(pictures);
  for (const char* name : {"completion-by-policy", "last-end-by-policy",
                           "completion-by-jobs_at_start", "gain-by-jobs_at_start"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
  const std::string svg = SvgOf(pictures, "completion-by-policy");
  EXPECT_TRUE(absl::StrContains(svg, "jobs at start 20"));
  EXPECT_TRUE(absl::StrContains(svg, "10 of 12 jobs done"));
}

TEST(SimPicturesTest, LongerOperationsAreDrawnAsLongerBubbles) {
  const SimSweep sweep = Sweep("training.forward", {"1ms", "2ms"});
  std::vector<SimOutcome> outcomes = MadeUpOutcomes({sweep});
  outcomes[1].result.bubble_mean_s = 0.04;
  EXPECT_TRUE(absl::StrContains(SvgOf(Pictures({sweep}, outcomes), "gain-by-forward"),
                                "mean length of the bubbles offered, ms"));
}

TEST(SimPicturesTest, OverrunsAreDrawnWhereThereAreSome) {
  const SimSweep sweep = Sweep("training.fill.static_share", {"0.5", "1"});
  std::vector<SimOutcome> outcomes = MadeUpOutcomes({sweep});
  EXPECT_FALSE(NamesOf(Pictures({sweep}, outcomes)).contains("slowdown-by-static_share"));
  outcomes[1].result.slowdown_max = 0.02;
  EXPECT_TRUE(NamesOf(Pictures({sweep}, outcomes)).contains("slowdown-by-static_share"));
}

TEST(SimPicturesTest, WhereNoJobIsDoneThereAreNoTimes) {
  const SimSweep sweep = Sweep("policy", {"fifo", "sjf"});
  std::vector<SimOutcome> outcomes = MadeUpOutcomes({sweep});
  for (SimOutcome& outcome : outcomes) {
    outcome.result.jobs_completed = 0;
    outcome.result.completion_quantiles_s.clear();
  }
  const Names names = NamesOf(Pictures({sweep}, outcomes));
  EXPECT_FALSE(names.contains("completion-by-policy"));
  EXPECT_FALSE(names.contains("completion-times"));
}

TEST(SimPicturesTest, ASweepThatBeginsAtZeroHasALinearAxis) {
  const SimSweep sweep = Sweep("training.jitter", {"0", "0.01", "0.1"});
  const std::string svg = SvgOf(Pictures({sweep}, MadeUpOutcomes({sweep})), "gain-by-jitter");
  EXPECT_TRUE(absl::StrContains(svg, ">0</text>")) << svg;
  EXPECT_TRUE(absl::StrContains(svg, ">0.1</text>"));
}

TEST(SimPicturesTest, RunsInWhichNoJobIsDoneHaveNoTime) {
  const std::vector<SimSweep> sweeps = {Sweep("policy", {"fifo", "sjf"}),
                                        Sweep("workload.jobs_per_hour", {"10", "20", "30"})};
  std::vector<SimOutcome> outcomes = MadeUpOutcomes(sweeps);
  for (SimOutcome& outcome : outcomes) outcome.result.jobs_completed = 10;
  for (const size_t i : {0U, 3U, 4U, 5U}) {
    outcomes[i].result.jobs_completed = 0;
    outcomes[i].result.completion_mean_s = 0;
    outcomes[i].result.last_end_s = 0;
  }
  const std::vector<SimPicture> pictures = Pictures(sweeps, outcomes);
  for (const char* name : {"completion-by-policy", "completion-by-jobs_per_hour",
                           "last-end-by-policy", "last-end-by-jobs_per_hour"}) {
    const std::string svg = SvgOf(pictures, name);
    EXPECT_TRUE(absl::StrContains(svg, "10 of 12 jobs done")) << name;
    EXPECT_FALSE(absl::StrContains(svg, "; 0 of 12 jobs done")) << name;
  }
}

TEST(SimPicturesTest, FasterTracesAreMoreLoad) {
  const SimSweep sweep = Sweep("workload.trace.speed_up", {"1", "2"});
  const std::vector<SimPicture> pictures = Pictures({sweep}, MadeUpOutcomes({sweep}));
  EXPECT_TRUE(NamesOf(pictures).contains("completion-by-speed_up"));
  EXPECT_TRUE(absl::StrContains(SvgOf(pictures, "gain-by-speed_up"),
                                ">speed-up of the trace&#39;s arrivals</text>"));
}

std::string PageOf(const v1::Scenario& scenario) {
  const std::vector<SimOutcome> outcomes = {MadeUpOutcome()};
  return SimPage({.scenario = scenario,
                  .outcomes = outcomes,
                  .pictures = Pictures({}, outcomes),
                  .replay = "pipefill sim a.json --seed 3"});
}

TEST(SimPageTest, SaysWhatWasSimulatedAndHowToSeeItAgain) {
  v1::Scenario scenario;
  scenario.set_name("small");
  scenario.mutable_training()->mutable_fill()->set_static_share(0.68);
  scenario.mutable_workload()->add_classes()->set_unit("5ms");
  const std::string page = PageOf(scenario);
  for (const char* text : {"Simulated, not measured.", "pipefill sim a.json --seed 3", "30.0 %",
                           "<td>training.fill.static_share</td><td>0.68</td>",
                           "<td>workload.classes[0].unit</td><td>5ms</td>"}) {
    EXPECT_TRUE(absl::StrContains(page, text)) << text;
  }
}

TEST(SimPageTest, WhatIsSweptOverIsThereAlsoWhereTheScenarioDoesNotSayIt) {
  const SimSweep sweep = Sweep("training.jitter", {"0", "0.1"});
  const std::vector<SimOutcome> outcomes = MadeUpOutcomes({sweep});
  const std::string page =
      SimPage({.scenario = v1::Scenario(), .outcomes = outcomes, .pictures = {}, .replay = ""});
  EXPECT_TRUE(absl::StrContains(page, "<td>training.jitter</td><td>swept over</td>"));
}

TEST(SimPageTest, SaysWhatBecameOfTheRowsOfATrace) {
  const SimSweep sweep = Sweep("workload.trace.gpus_max", {"1", "8"});
  std::vector<SimOutcome> outcomes = MadeUpOutcomes({sweep});
  const auto page_of = [&outcomes] {
    return SimPage(
        {.scenario = v1::Scenario(), .outcomes = outcomes, .pictures = {}, .replay = ""});
  };
  EXPECT_FALSE(absl::StrContains(page_of(), "Rows of the trace"));
  for (SimOutcome& outcome : outcomes) {
    outcome.trace_rows = {{.source = "<a>.csv", .rows = 7}};
  }
  EXPECT_TRUE(absl::StrContains(page_of(), "<li>&lt;a&gt;.csv: 7 rows, 7 used</li>"));
  outcomes[0].trace_rows[0].Skip(simulator::SkipReason::kTooManyGpus, 0);
  EXPECT_TRUE(absl::StrContains(
      page_of(), "<li>workload.trace.gpus_max=8: &lt;a&gt;.csv: 7 rows, 7 used</li>"));
}

TEST(SimPageTest, OfPicturesOfAKindTheFirstIsOpen) {
  const SimSweep sweep = Sweep("training.forward", {"1ms", "2ms"});
  std::vector<SimOutcome> outcomes = MadeUpOutcomes({sweep});
  outcomes[1].result.completion_mean_s = 0;
  outcomes[1].result.jobs_completed = 0;
  const std::string page = SimPage({.scenario = v1::Scenario(),
                                    .outcomes = outcomes,
                                    .pictures = Pictures({sweep}, outcomes),
                                    .replay = ""});
  EXPECT_TRUE(absl::StrContains(
      page, "<details open><summary>One iteration, filled: forward 1ms</summary>"));
  EXPECT_TRUE(
      absl::StrContains(page, "<details><summary>One iteration, filled: forward 2ms</summary>"));
  EXPECT_TRUE(absl::StrContains(page, "<p class=\"value\">4h0m</p>")) << "of what was done";
}

TEST(SimPageTest, NeedsNothingFromOutsideAndEscapesNames) {
  v1::Scenario scenario;
  scenario.set_name("<script>");
  const std::string page = PageOf(scenario);
  for (const char* text : {"<script", "src=", "href=", "@import", "url(http"}) {
    EXPECT_FALSE(absl::StrContains(page, text)) << text;
  }
  EXPECT_TRUE(absl::StrContains(page, "&lt;script&gt;"));
}

}  // namespace
}  // namespace pipefill
