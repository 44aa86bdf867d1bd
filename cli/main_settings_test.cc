#include "cli/main_settings.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "cli/testing/command_fixture.h"

namespace pipefill {
namespace {

class MainSettingsTest : public CommandFixture {
 protected:
  MainSettingsTest() { scheduler.main_job_settings.set_main_job("gpt"); }

  void AddRank(const std::string& device) {
    v1::Device& added = *scheduler.devices.add_devices();
    added.set_node("node1");
    added.set_name(device);
    added.mutable_main_rank()->set_main_job("gpt");
  }

  const v1::UpdateMainJobRequest& Updated() { return scheduler.updated.back(); }
};

TEST_F(MainSettingsTest, PauseSaysWhereAndWhenTheLastUnitEnds) {
  scheduler.main_job_settings.set_paused(true);
  AddRank("cpu0");
  AddRank("cpu1");
  AddAttempt(AddJob(1, "embed", v1::JOB_STATE_RUNNING))
      .mutable_progress()
      ->set_unit_estimate_ns(1'500'000);

  const Result result = Run({"pause", "gpt"});

  EXPECT_EQ(result.code, kExitOk);
  EXPECT_EQ(result.out,
            "gpt is paused on 2 devices: no further unit starts; one that runs now ends within "
            "about 1.5 ms\n");
  EXPECT_EQ(Updated().main_job(), "gpt");
  EXPECT_TRUE(Updated().paused());
  EXPECT_FALSE(Updated().has_mode());
  EXPECT_FALSE(Updated().has_budget_ppm());
}

TEST_F(MainSettingsTest, PauseSaysThatNothingIsFilledOrAttached) {
  EXPECT_EQ(Run({"pause", "gpt"}).out,
            "gpt is paused; no rank is attached now, so it holds for the next that is\n");
  AddRank("cpu1");
  AddAttempt(AddJob(1, "embed", v1::JOB_STATE_RUNNING));  // on cpu0
  EXPECT_EQ(Run({"pause", "gpt"}).out, "gpt is paused on 1 device: nothing is filled there now\n");
}

TEST_F(MainSettingsTest, ResumeSaysWhenFillingGoesOnOrWhyNot) {
  AddRank("cpu0");
  EXPECT_EQ(Run({"resume", "gpt"}).out,
            "gpt is not paused any more on 1 device: units start again in the next bubble\n");
  EXPECT_TRUE(Updated().has_paused());
  EXPECT_FALSE(Updated().paused());
  scheduler.main_job_settings.set_mode(v1::FILL_MODE_REPORT);
  EXPECT_EQ(Run({"resume", "gpt"}).out,
            "gpt is not paused any more on 1 device; its mode is report, so nothing is filled\n");
}

TEST_F(MainSettingsTest, UnknownMainJobIsNotFoundAndKnownOnesAreNamed) {
  scheduler.error = absl::NotFoundError("no main job \"gtp\" is attached; attached: gpt");
  const Result result = Run({"pause", "gtp"});
  EXPECT_EQ(result.code, kExitNotFound);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err, "pipefill: no main job \"gtp\" is attached; attached: gpt\n");
}

TEST_F(MainSettingsTest, BudgetIsTakenAsPercentOrFraction) {
  AddRank("cpu0");
  scheduler.main_job_settings.set_budget_ppm(5'000);
  EXPECT_EQ(Run({"main", "set-budget", "gpt", "0.5%"}).out, "gpt: budget 0.5 % on 1 device\n");
  EXPECT_EQ(Updated().budget_ppm(), 5'000U);
  Run({"main", "set-budget", "gpt", "0.005"});
  EXPECT_EQ(Updated().budget_ppm(), 5'000U);
  Run({"main", "set-budget", "gpt", "as-attached"});
  EXPECT_TRUE(Updated().has_budget_ppm());
  EXPECT_EQ(Updated().budget_ppm(), 0U);
}

TEST_F(MainSettingsTest, BudgetThatIsNoneIsOneLineAndNothingIsSent) {
  const Result result = Run({"main", "set-budget", "gpt", "little"});
  EXPECT_EQ(result.code, kExitUsage);
  EXPECT_EQ(result.err, "pipefill: not a budget: little; write a share, as 0.5% or 0.005\n");
  EXPECT_TRUE(scheduler.updated.empty());
}

TEST_F(MainSettingsTest, ModeIsOneOfFour) {
  AddRank("cpu0");
  scheduler.main_job_settings.set_mode(v1::FILL_MODE_OFF);
  EXPECT_EQ(Run({"main", "set-mode", "gpt", "off"}).out, "gpt: mode off on 1 device\n");
  EXPECT_EQ(Updated().mode(), v1::FILL_MODE_OFF);
  scheduler.main_job_settings.set_mode(v1::FILL_MODE_UNSPECIFIED);
  scheduler.main_job_settings.set_paused(true);
  EXPECT_EQ(Run({"main", "set-mode", "gpt", "as-attached"}).out,
            "gpt: mode as-attached on 1 device; it is paused, so nothing is filled\n");
  EXPECT_TRUE(Updated().has_mode());
  EXPECT_EQ(Updated().mode(), v1::FILL_MODE_UNSPECIFIED);

  const Result wrong = Run({"main", "set-mode", "gpt", "on"});
  EXPECT_EQ(wrong.code, kExitUsage);
  EXPECT_EQ(wrong.err, "pipefill: not a mode: on; choose off, report, fill or as-attached\n");
}

TEST_F(MainSettingsTest, RuleIsLearnedOrAShare) {
  AddRank("cpu0");
  scheduler.main_job_settings.set_static_share_ppm(680'000);
  EXPECT_EQ(Run({"main", "set-rule", "gpt", "static:68%"}).out,
            "gpt: rule static: 68 % on 1 device\n");
  EXPECT_EQ(Updated().static_share_ppm(), 680'000U);
  scheduler.main_job_settings.set_static_share_ppm(0);
  EXPECT_EQ(Run({"main", "set-rule", "gpt", "latest-start"}).out,
            "gpt: rule latest-start on 1 device\n");
  EXPECT_TRUE(Updated().has_static_share_ppm());

  EXPECT_EQ(Run({"main", "set-rule", "gpt", "always"}).err,
            "pipefill: not a rule: always; choose latest-start or static:68%\n");
  EXPECT_EQ(Run({"main", "set-rule", "gpt", "static:"}).err,
            "pipefill: not a share: ; write a share, as 0.5% or 0.005\n");
}

TEST_F(MainSettingsTest, JsonIsWhatHoldsNow) {
  scheduler.main_job_settings.set_paused(true);
  scheduler.main_job_settings.set_budget_ppm(5'000);
  const auto json = nlohmann::json::parse(Run({"pause", "gpt", "-o", "json"}).out);
  EXPECT_EQ(json["main_job"], "gpt");
  EXPECT_EQ(json["paused"], true);
  EXPECT_EQ(json["budget_ppm"], 5'000);
  EXPECT_FALSE(json.contains("mode"));
}

TEST_F(MainSettingsTest, ValueIsNeeded) {
  EXPECT_EQ(Run({"main", "set-mode", "gpt"}).code, kExitUsage);
  EXPECT_EQ(Run({"pause"}).code, kExitUsage);
}

}  // namespace
}  // namespace pipefill
