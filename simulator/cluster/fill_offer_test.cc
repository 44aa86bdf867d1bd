#include "simulator/cluster/fill_offer.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace pipefill::simulator {
namespace {

constexpr int64_t kMs = 1'000'000;

// Bubbles with these lengths, one entry per iteration, in iterations of a second.
StageRun StageWith(std::vector<std::vector<int64_t>> bubbles,
                   BubbleClass bubble_class = BubbleClass::kMiddle) {
  StageRun stage;
  for (std::vector<int64_t>& lengths : bubbles) {
    StageBubble bubble;
    bubble.bubble_class = bubble_class;
    bubble.ordinal = static_cast<uint32_t>(stage.bubbles.size());
    bubble.p10_ns = bubble.p50_ns = bubble.p90_ns = lengths.front();
    bubble.lengths_ns = std::move(lengths);
    stage.bubbles.push_back(std::move(bubble));
  }
  return stage;
}

Configuration Units(int64_t unit_ns, int64_t memory_bytes = 0) {
  Configuration configuration;
  configuration.name = "default";
  configuration.resident_bytes = memory_bytes;
  configuration.chain = {{.time_ns = unit_ns}};
  return configuration;
}

StageOffer Offer(const StageRun& stage, const FillRule& rule) {
  return OfferOf(stage, 1000 * kMs, rule, int64_t{1} << 30).value();
}

TEST(FillOfferTest, StaticShareFillsThatShareLessAUnit) {
  const StageOffer offer = Offer(StageWith({{500 * kMs}}), {.static_share = 0.68});
  const FillYield yield = Fill(Units(kMs), offer, 1).value();
  EXPECT_NEAR(yield.filled_share, 0.5 * 0.68, 0.002);
  EXPECT_EQ(yield.overrun_share, 0);
  EXPECT_NEAR(yield.samples_per_s, 340, 2);
}

TEST(FillOfferTest, LearnedRuleFillsSteadyBubblesToTheirEnd) {
  const StageOffer offer = Offer(StageWith({{500 * kMs}}), {});
  EXPECT_GT(Fill(Units(kMs), offer, 1)->filled_share, 0.5 * 0.98);
}

TEST(FillOfferTest, ShortBubblesAreOverrunAndLongUnitsDoNotStart) {
  std::vector<int64_t> lengths;
  for (int i = 0; i < 64; ++i) lengths.push_back((i % 4 == 0 ? 80 : 100) * kMs);
  const StageOffer offer = Offer(StageWith({lengths}), {.overrun_ratio = 0.5});
  const FillYield yield = Fill(Units(2 * kMs), offer, 1).value();
  EXPECT_GT(yield.overrun_share, 0);
  EXPECT_LT(yield.overrun_share, 0.5 * yield.filled_share);
  EXPECT_FALSE(Fill(Units(250 * kMs), offer, 1).has_value());
}

TEST(FillOfferTest, SharesOfClassesAddUp) {
  StageRun stage = StageWith({{100 * kMs}, {300 * kMs}});
  for (StageBubble& bubble : stage.bubbles) bubble.mean_ns = bubble.p50_ns;
  stage.bubbles[0].bubble_class = BubbleClass::kHead;
  const StageOffer offer = Offer(stage, {.static_share = 0.5, .filled_share = 0.5});
  EXPECT_EQ(offer.bubble_shares,
            (PerClass{{BubbleClass::kHead, 0.1}, {BubbleClass::kMiddle, 0.3}}));
  const FillYield yield = Fill(Units(kMs), offer, 1).value();
  EXPECT_NEAR(yield.filled_shares.at(BubbleClass::kHead), 0.025, 0.001);
  EXPECT_NEAR(yield.filled_shares.at(BubbleClass::kMiddle), 0.075, 0.001);
  EXPECT_NEAR(
      yield.filled_shares.at(BubbleClass::kHead) + yield.filled_shares.at(BubbleClass::kMiddle),
      yield.filled_share, 1e-9);
}

TEST(FillOfferTest, OneIterationIsFilledAsAllAre) {
  const StageOffer offer = Offer(StageWith({{500 * kMs}, {2 * kMs}}), {.static_share = 0.5});
  const std::vector<UnitRun> runs = FillIteration(Units(10 * kMs), offer, 1, 0);
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0].units, 24);  // the hand-over takes the place of the last one
  EXPECT_EQ(runs[0].end_ns - runs[0].begin_ns, 240 * kMs);
  EXPECT_GT(runs[0].begin_ns, 0);
  EXPECT_EQ(runs[1].units, 0);
}

TEST(FillOfferTest, HoldOutsAndSlownessCount) {
  const StageRun stage = StageWith({{500 * kMs}});
  const double all = Fill(Units(kMs), Offer(stage, {.static_share = 0.5}), 1)->samples_per_s;
  const StageOffer half = Offer(stage, {.static_share = 0.5, .filled_share = 0.5});
  EXPECT_NEAR(Fill(Units(kMs), half, 1)->samples_per_s, all / 2, 1);
  EXPECT_NEAR(Fill(Units(kMs), half, 2)->samples_per_s, all / 4, 1);
}

TEST(FillOfferTest, ScatteredBubblesAreLeftAloneIfAsked) {
  const StageRun stage = StageWith({{500 * kMs}}, BubbleClass::kScattered);
  EXPECT_EQ(Offer(stage, {.fills_scattered = false}).bubbles.size(), 0U);
  EXPECT_EQ(Offer(stage, {}).bubbles.size(), 1U);
}

TEST(FillOfferTest, UnitsWithoutTheMemoryDoNotStart) {
  const StageOffer offer = Offer(StageWith({{500 * kMs}}), {});
  EXPECT_FALSE(Fill(Units(kMs, int64_t{2} << 30), offer, 1).has_value());
}

TEST(FillOfferTest, AgentsReportWhatGatesGoBy) {
  const StageOffer offer = Offer(StageWith({{500 * kMs}, {9 * kMs}}), {});
  const auto stats = StatsOf(offer, {"n", "gpu0"});
  ASSERT_EQ(stats.size(), 2U);
  EXPECT_EQ(stats[1].p50_ns, 9 * kMs);
  EXPECT_EQ(stats[0].latest_start_ns.size(), stats[0].unit_ns.size());
  EXPECT_EQ(stats[0].offer, scheduler::BubbleOffer::kYes);
}

TEST(FillOfferTest, RulesThatMakeNoSenseAreRefused) {
  const StageRun stage = StageWith({{kMs}});
  for (const FillRule& rule :
       {FillRule{.static_share = 1.5}, FillRule{.overrun_ratio = 1}, FillRule{.filled_share = 0}}) {
    EXPECT_EQ(OfferOf(stage, kMs, rule, 0).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace pipefill::simulator
