#include "cli/main_jobs.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/testing/command_fixture.h"

namespace pipefill {
namespace {

class MainJobsTest : public CommandFixture {
 protected:
  v1::MainJobSettings& AddMainJob(const std::string& name) {
    v1::MainJobSettings& settings = *scheduler.main_jobs.add_main_jobs();
    settings.set_main_job(name);
    return settings;
  }

  v1::MainRank& AddRank(const std::string& main_job, int rank) {
    v1::Device& device = *scheduler.devices.add_devices();
    device.set_node("node1");
    device.set_name(rank == 0 ? "cpu0" : "cpu1");
    v1::MainRank& main_rank = *device.mutable_main_rank();
    main_rank.set_main_job(main_job);
    main_rank.set_rank(rank);
    main_rank.set_ranks(2);
    main_rank.set_mode(v1::FILL_MODE_FILL);
    return main_rank;
  }

  static v1::FillControl& AddControl(v1::MainRank& rank, v1::FillState state, double slowdown) {
    v1::FillControl& control = *rank.mutable_control();
    control.set_state(state);
    control.set_overrun_ratio(0.25);
    control.set_slowdown(slowdown);
    control.set_slowdown_low(slowdown - 0.002);
    control.set_slowdown_high(slowdown + 0.002);
    control.set_hold_outs(40);
    control.set_budget_ppm(10'000);
    return control;
  }
};

TEST_F(MainJobsTest, ShowsHowFillingGoesAndWhy) {
  AddMainJob("bert");
  AddMainJob("gpt").set_budget_ppm(5'000);
  AddControl(AddRank("gpt", 0), v1::FILL_STATE_FILLING, 0.001).set_text("under its budget");
  AddControl(AddRank("gpt", 1), v1::FILL_STATE_FILLING, 0.003).set_text("under its budget");

  const Result result = Run({"main"});

  EXPECT_EQ(result.code, kExitOk);
  EXPECT_EQ(result.out,
            "MAIN JOB  RANKS  MODE  STATE    BUDGET  SLOWDOWN                  LAMBDA\n"
            "bert       none  -     -             -  -                              -\n"
            "gpt         2/2  fill  filling   0.5 %  +0.30 % (+0.10..+0.50 %)    0.25\n"
            "\n"
            "gpt: under its budget\n");
}

TEST_F(MainJobsTest, ShowsNothingThatIsNotKnown) {
  AddMainJob("gpt");
  AddRank("gpt", 0);
  v1::FillControl& control = AddControl(AddRank("gpt", 1), v1::FILL_STATE_LEARNING,
                                        std::numeric_limits<double>::quiet_NaN());
  control.set_hold_outs(0);
  control.set_overrun_ratio(0);

  EXPECT_EQ(Run({"main"}).out,
            "MAIN JOB  RANKS  MODE  STATE     BUDGET  SLOWDOWN  LAMBDA\n"
            "gpt         2/2  fill  learning     1 %  -              -\n");
}

TEST_F(MainJobsTest, WhatUsersSetShowsBeforeAgentsTellOfIt) {
  v1::MainJobSettings& settings = AddMainJob("gpt");
  settings.set_paused(true);
  settings.set_mode(v1::FILL_MODE_REPORT);
  settings.set_static_share_ppm(680'000);
  AddRank("gpt", 0);

  EXPECT_EQ(Run({"main"}).out,
            "MAIN JOB  RANKS  MODE    STATE   BUDGET  SLOWDOWN  LAMBDA\n"
            "gpt         1/2  report  paused       -  -              -\n"
            "\n"
            "gpt: units end within 68 % of each bubble (rule static)\n");
}

TEST_F(MainJobsTest, RanksThatDifferShowAllTheirStates) {
  AddMainJob("gpt");
  AddControl(AddRank("gpt", 0), v1::FILL_STATE_FILLING, 0.001);
  AddControl(AddRank("gpt", 1), v1::FILL_STATE_BACKED_OFF, 0.02).set_text("2 % is too much");

  const std::string out = Run({"main"}).out;
  EXPECT_NE(out.find("mixed"), std::string::npos) << out;
  EXPECT_NE(out.find("gpt: 1 of its ranks backed_off, 1 of its ranks filling\n"), std::string::npos)
      << out;
  EXPECT_NE(out.find("+2.00 % (+1.80..+2.20 %)"), std::string::npos) << out;
  EXPECT_NE(out.find("gpt: 2 % is too much\n"), std::string::npos) << out;
}

TEST_F(MainJobsTest, SaysHowToAttachWhenThereIsNone) {
  const Result result = Run({"main"});
  EXPECT_EQ(result.code, kExitOk);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err,
            "pipefill: no main job is attached; two lines in a training loop do it: see "
            "README.md, 'Attach a training loop'\n");
}

TEST_F(MainJobsTest, JsonHasSettingsAndRanksAndNoNumberThatIsUnknown) {
  AddMainJob("gpt").set_paused(true);
  AddControl(AddRank("gpt", 0), v1::FILL_STATE_PAUSED, std::numeric_limits<double>::quiet_NaN());

  const auto json = nlohmann::json::parse(Run({"main", "-o", "json"}).out);

  const auto& main_job = json["main_jobs"][0];
  EXPECT_EQ(main_job["main_job"], "gpt");
  EXPECT_EQ(main_job["paused"], true);
  EXPECT_FALSE(main_job.contains("mode"));
  EXPECT_EQ(main_job["ranks"][0]["device"], "cpu0");
  EXPECT_EQ(main_job["ranks"][0]["mode"], "fill");
  EXPECT_EQ(main_job["ranks"][0]["control"]["state"], "paused");
  EXPECT_FALSE(main_job["ranks"][0]["control"].contains("slowdown"));
}

TEST_F(MainJobsTest, UnknownVerbIsWrongUse) {
  const Result result = Run({"main", "set-buget", "gpt", "1%"});
  EXPECT_EQ(result.code, kExitUsage);
  EXPECT_NE(result.err.find("did you mean set-budget?"), std::string::npos) << result.err;
}

}  // namespace
}  // namespace pipefill
