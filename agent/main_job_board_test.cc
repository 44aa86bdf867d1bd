#include "agent/main_job_board.h"

#include <gtest/gtest.h>

namespace pipefill {
namespace {

constexpr uint32_t kDefaultPpm = 10'000;

RankRequest RankOf(const std::string& main_job) {
  return {.main_job = main_job, .mode = FillMode::kReport, .budget_ppm = 5'000, .device = ""};
}

TEST(MainJobBoardTest, RankGetsWhatItAskedForWhileNothingIsSet) {
  MainJobBoard board(kDefaultPpm);
  board.Set({.main_job = "bert", .mode = FillMode::kOff, .is_paused = true});
  EXPECT_EQ(board.SettingsFor(RankOf("gpt")),
            (RankSettings{.mode = FillMode::kReport, .budget_ppm = 5'000}));
}

TEST(MainJobBoardTest, RankThatAsksForNoBudgetGetsTheConfiguredOne) {
  const MainJobBoard board(7'000);
  RankRequest request = RankOf("gpt");
  request.budget_ppm = 0;
  EXPECT_EQ(board.SettingsFor(request).budget_ppm, 7'000u);
}

TEST(MainJobBoardTest, WhatIsSetOverridesWhatTheRankAskedFor) {
  MainJobBoard board(kDefaultPpm);
  board.Set({.main_job = "gpt",
             .mode = FillMode::kFill,
             .budget_ppm = 20'000,
             .is_paused = true,
             .static_share_ppm = 680'000});
  EXPECT_EQ(board.SettingsFor(RankOf("gpt")), (RankSettings{.mode = FillMode::kFill,
                                                            .budget_ppm = 20'000,
                                                            .is_paused = true,
                                                            .static_share_ppm = 680'000}));
}

TEST(MainJobBoardTest, UnsetFieldsStayAsTheRankAskedFor) {
  MainJobBoard board(kDefaultPpm);
  board.Set({.main_job = "gpt", .mode = std::nullopt, .is_paused = true});
  const RankSettings settings = board.SettingsFor(RankOf("gpt"));
  EXPECT_EQ(settings.mode, FillMode::kReport);
  EXPECT_EQ(settings.budget_ppm, 5'000u);
}

TEST(MainJobBoardTest, NewSettingsReplaceOldOnesAsAWhole) {
  MainJobBoard board(kDefaultPpm);
  board.Set({.main_job = "gpt", .mode = FillMode::kOff, .is_paused = true});
  board.Set({.main_job = "gpt", .mode = std::nullopt, .budget_ppm = 1});
  EXPECT_EQ(board.SettingsFor(RankOf("gpt")),
            (RankSettings{.mode = FillMode::kReport, .budget_ppm = 1}));
}

TEST(MainJobBoardTest, ForgetsAMainJobOnceNothingIsSetForIt) {
  MainJobBoard board(kDefaultPpm);
  board.Set({.main_job = "gpt", .mode = std::nullopt, .is_paused = true});
  EXPECT_EQ(board.size(), 1u);
  board.Set({.main_job = "gpt", .mode = std::nullopt});
  EXPECT_EQ(board.size(), 0u);
}

TEST(RankSettingsTest, PauseShutsGatesAndLeavesMeasuringOn) {
  EXPECT_TRUE((RankSettings{.mode = FillMode::kFill}).is_filled());
  EXPECT_FALSE((RankSettings{.mode = FillMode::kFill, .is_paused = true}).is_filled());
  EXPECT_TRUE((RankSettings{.mode = FillMode::kFill, .is_paused = true}).is_measured());
  EXPECT_FALSE((RankSettings{.mode = FillMode::kReport}).is_filled());
  EXPECT_FALSE((RankSettings{.mode = FillMode::kOff}).is_measured());
}

TEST(MainJobBoardTest, WhatIsNotNamedAnyMoreHoldsNoLonger) {
  MainJobBoard board(kDefaultPpm);
  board.Set({.main_job = "gpt", .mode = std::nullopt, .is_paused = true});
  board.Set({.main_job = "bert", .mode = std::nullopt, .is_paused = true});
  board.KeepOnly({"bert"});
  EXPECT_FALSE(board.SettingsFor(RankOf("gpt")).is_paused);
  EXPECT_TRUE(board.SettingsFor(RankOf("bert")).is_paused);
}

}  // namespace
}  // namespace pipefill
