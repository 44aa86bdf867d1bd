#include "cli/plan/plan_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/match.h"
#include "cli/plan/model_options.h"
#include "cli/plan/model_plan.h"
#include "cli/plan/plan_json.h"
#include "cli/plan/plan_page.h"

namespace pipefill {
namespace {

IdlePlan Plan(const std::string& pipeline) {
  ModelOptions options;
  options.pipeline = pipeline;
  options.forward = "10ms";
  options.memory = "16GiB";
  options.static_bytes = "8GiB";
  options.activation = "512MiB";
  return PlanOfModel(ModelOf(options).value()).value();
}

TEST(PlanTextTest, HeadlineSaysWhatIsIdleAndThatItIsAModel) {
  EXPECT_EQ(PlanHeadline(Plan("2x4@1f1b")),
            "2 stages x 4 microbatches, 1f1b\niteration 150 ms, 20.0 % of it idle (model)\n");
}

TEST(PlanTextTest, BubblesOfAClassAreOneRowUnlessAllAreWanted) {
  const IdlePlan plan = Plan("4x8@1f1b");
  const std::string table = BubbleTable(plan, {});
  EXPECT_TRUE(absl::StrContains(table,
                                "STAGE  BUBBLE     COUNT  LENGTH  TOTAL   SHARE  FREE MEMORY\n"
                                "    0  middle         1   60 ms  60 ms  18.2 %        6 GiB\n"
                                "    0  scattered      3   10 ms  30 ms   9.1 %      6.5 GiB\n"
                                "    1  head           1   10 ms  10 ms   3.0 %        8 GiB\n"))
      << table;
  EXPECT_TRUE(absl::StrContains(BubbleTable(plan, {.wants_all = true}), "    0  scattered 13"));
}

TEST(PlanTextTest, TheTimelineShowsWhatEachStageDoesWhen) {
  EXPECT_EQ(TimelineText(Plan("2x2@gpipe"), 26),
            "stage 0 FFFF......BBBBBBBB\n"
            "stage 1 ..FFFFBBBBBBBB....\n"
            "        0 to 90 ms; F forward  B backward  . idle\n");
}

TEST(PlanTextTest, APictureOfManyStagesSaysWhatItLeavesOut) {
  EXPECT_TRUE(absl::StrContains(TimelineText(Plan("40x4@gpipe"), 80), "\n8 more are not drawn\n"));
}

TEST(PlanTextTest, TheGainIsToldPerStageAndInTotal) {
  FillQuestion question;
  question.job = "embed";
  Configuration configuration;
  configuration.name = "batch8";
  configuration.chain = {{.time_ns = 1'000'000}};
  question.profile.configurations = {configuration};
  question.profile.samples_total = 3'600'000;
  const IdlePlan plan = Plan("2x4@1f1b");
  const std::string text = FillText(question, ForecastFill(question, plan).value(), plan, 10'000);
  for (const char* part :
       {"STAGE  SAMPLES/S", "batch8", "best         stage 0, ", "done there   in ", "one on each  ",
        " of 2 devices of their own", "at most 1 % slower: 1.5 ms an iteration"}) {
    EXPECT_TRUE(absl::StrContains(text, part)) << part << "\n" << text;
  }
}

TEST(PlanTextTest, JsonHasEveryBubbleAndTheForecast) {
  const IdlePlan plan = Plan("2x4@1f1b");
  const auto json = nlohmann::json::parse(PlanJson(plan, nullptr));
  EXPECT_EQ(json["source"], "model");
  EXPECT_DOUBLE_EQ(json["bubble_share"].get<double>(), 0.2);
  ASSERT_EQ(json["devices"].size(), 2u);
  const auto& middle = json["devices"][0]["bubbles"][0];
  EXPECT_EQ(middle["class"], "middle");
  EXPECT_EQ(middle["ordinal"], 2);
  EXPECT_EQ(middle["offset_ns"], 20'000'000);
  EXPECT_EQ(middle["p50_ns"], 20'000'000);
  EXPECT_EQ(middle["memory_free_bytes"], int64_t{7} << 30);
  EXPECT_FALSE(json.contains("fill"));
}

TEST(PlanTextTest, ThePageHoldsThePictureAndTheRowsAndEscapesWhatItIsGiven) {
  IdlePlan plan = Plan("2x4@zb-h1");
  plan.notes = {"a < b"};
  const std::string page = PlanPage(plan, "job <x>\n");
  for (const char* part : {"<svg", "weight gradient and other work", "stage 1", "middle 2",
                           "a &lt; b", "job &lt;x&gt;", "(model)", "<td>7 GiB</td>"}) {
    EXPECT_TRUE(absl::StrContains(page, part)) << part;
  }
  EXPECT_FALSE(absl::StrContains(page, "hold-out"));
}

}  // namespace
}  // namespace pipefill
