#include "cli/bubbles.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "cli/testing/command_fixture.h"

namespace pipefill {
namespace {

class BubblesTest : public CommandFixture {
 protected:
  v1::BubbleStats& AddBubble(const std::string& main_job, int rank, v1::BubbleClass bubble_class) {
    v1::BubbleStats& bubble = *scheduler.bubbles.add_bubbles();
    bubble.set_node("node1");
    bubble.set_device("cpu0");
    bubble.set_main_job(main_job);
    bubble.set_rank(rank);
    bubble.set_stage(rank);
    bubble.set_bubble_class(bubble_class);
    bubble.set_count(812);
    bubble.set_p10_ns(11'000'000);
    bubble.set_p50_ns(12'345'678);
    bubble.set_p90_ns(14'900'000);
    bubble.set_memory_free_bytes(int64_t{3} << 29);
    bubble.set_bubble_ns(10'000'000'000);
    bubble.set_offered_ns(9'412'000'000);
    bubble.set_filled_ns(9'020'000'000);
    bubble.set_overrun_ns(31'000'000);
    return bubble;
  }
};

TEST_F(BubblesTest, GroupsByMainJobInsideEightyColumns) {
  AddBubble("gpt", 0, v1::BUBBLE_CLASS_MIDDLE);
  AddBubble("vision", 3, v1::BUBBLE_CLASS_TAIL);
  v1::BubbleStats& wide = AddBubble("gpt", 127, v1::BUBBLE_CLASS_SCATTERED);
  wide.set_ordinal(12);
  wide.set_count(1'234'567);
  wide.set_p50_ns(210'000);
  wide.set_p90_ns(3'000'000);
  wide.set_memory_free_bytes(312 << 20);
  wide.set_bubble_ns(0);

  const Result result = Run({"bubbles", "--all"});

  EXPECT_EQ(result.code, kExitOk);
  EXPECT_EQ(result.out,
            "main job gpt\n"
            "RANK  BUBBLE            COUNT      P50      P90   MEMORY  OFFERED  FILLED  OVERRUN\n"
            "   0  middle 0            812  12.3 ms  14.9 ms  1.5 GiB   94.1 %  90.2 %    0.3 %\n"
            " 127  scattered 12  1,234,567   210 us     3 ms  312 MiB        -       -        -\n"
            "\n"
            "main job vision\n"
            "RANK  BUBBLE  COUNT      P50      P90   MEMORY  OFFERED  FILLED  OVERRUN\n"
            "   3  tail 0    812  12.3 ms  14.9 ms  1.5 GiB   94.1 %  90.2 %    0.3 %\n");
}

TEST_F(BubblesTest, LeavesOutThoseWithHardlyAnyTime) {
  AddBubble("gpt", 0, v1::BUBBLE_CLASS_MIDDLE);
  AddBubble("gpt", 1, v1::BUBBLE_CLASS_TAIL).set_bubble_ns(1'000'000);

  const Result result = Run({"bubbles"});

  EXPECT_EQ(result.out.find("tail"), std::string::npos);
  EXPECT_EQ(
      result.err,
      "pipefill: 1 bubble with under 0.5 % of the bubble time not shown; '--all' lists them\n");
}

TEST_F(BubblesTest, ListsThemInTheOrderOfAnIteration) {
  AddBubble("gpt", 1, v1::BUBBLE_CLASS_HEAD);
  AddBubble("gpt", 0, v1::BUBBLE_CLASS_TAIL).set_ordinal(3);
  AddBubble("gpt", 0, v1::BUBBLE_CLASS_SCATTERED).set_ordinal(1);
  AddBubble("gpt", 0, v1::BUBBLE_CLASS_MIDDLE).set_ordinal(2);
  AddBubble("gpt", 0, v1::BUBBLE_CLASS_HEAD);

  const std::string out = Run({"bubbles"}).out;

  EXPECT_LT(out.find("head 0"), out.find("scattered 1"));
  EXPECT_LT(out.find("scattered 1"), out.find("middle 2"));
  EXPECT_LT(out.find("middle 2"), out.find("tail 3"));
  EXPECT_LT(out.find("tail 3"), out.rfind("head 0"));
}

TEST_F(BubblesTest, AsksForOneMainJobOnly) {
  AddBubble("gpt", 0, v1::BUBBLE_CLASS_MIDDLE);

  Run({"bubbles", "--main", "gpt"});

  EXPECT_EQ(scheduler.bubbles_main_job, "gpt");
}

TEST_F(BubblesTest, SaysWhenTheyWillShowUp) {
  const Result result = Run({"bubbles"});

  EXPECT_EQ(result.code, kExitOk);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err,
            "pipefill: no bubbles yet; they show up once a training run has attached and run an "
            "iteration ('pipefill devices' shows what is attached)\n");
  EXPECT_EQ(
      Run({"bubbles", "--main", "gpt"}).err,
      "pipefill: no bubbles of that main job: main_job=gpt; 'pipefill devices' shows which main "
      "jobs are attached\n");
}

TEST_F(BubblesTest, JsonHasRawUnitsAndLatestStarts) {
  v1::BubbleStats& bubble = AddBubble("gpt", 1, v1::BUBBLE_CLASS_MIDDLE);
  bubble.add_unit_ns(500'000);
  bubble.add_latest_start_ns(11'000'000);
  bubble.add_unit_ns(50'000'000);
  bubble.add_latest_start_ns(-1);

  const auto json = nlohmann::json::parse(Run({"bubbles", "-o", "json"}).out);

  const auto& first = json["bubbles"][0];
  EXPECT_EQ(first["main_job"], "gpt");
  EXPECT_EQ(first["class"], "middle");
  EXPECT_EQ(first["ordinal"], 0);
  EXPECT_EQ(first["p50_ns"], 12'345'678);
  EXPECT_EQ(first["memory_free_bytes"], int64_t{3} << 29);
  EXPECT_EQ(first["latest_starts"][1]["unit_ns"], 50'000'000);
  EXPECT_EQ(first["latest_starts"][1]["latest_start_ns"], -1);
}

TEST_F(BubblesTest, JsonOfNothingIsAnEmptyList) {
  EXPECT_EQ(Run({"bubbles", "-o", "json"}).out, "{\n  \"bubbles\": []\n}\n");
}

}  // namespace
}  // namespace pipefill
