#include "cli/bubbles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "cli/testing/command_fixture.h"

namespace pipefill {
namespace {

class BubblesTest : public CommandFixture {
 protected:
  v1::MainRank& AddRank(const std::string& main_job, int number) {
    v1::Device& device = *scheduler.devices.add_devices();
    device.set_resident(1);
    v1::MainRank& rank = *device.mutable_main_rank();
    rank.set_main_job(main_job);
    rank.set_rank(number);
    rank.set_ranks(2);
    rank.set_iterations(900);
    rank.set_iteration_p50_ns(112'000'000);
    rank.set_iteration_ns(100'000'000'000);
    rank.set_bubble_ns(30'000'000'000);
    v1::FillControl& control = *rank.mutable_control();
    control.set_state(v1::FILL_STATE_FILLING);
    control.set_budget_ppm(10'000);
    control.set_hold_outs(40);
    control.set_slowdown(0.0031);
    control.set_slowdown_low(-0.001);
    control.set_slowdown_high(0.0072);
    return rank;
  }
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

TEST_F(BubblesTest, SaysWhetherStateCouldBeOnTheHostBetweenSteps) {
  AddRank("gpt", 0);
  AddRank("gpt", 1);
  AddBubble("gpt", 0, v1::BUBBLE_CLASS_TAIL).set_p10_ns(60'000'000);
  AddBubble("gpt", 1, v1::BUBBLE_CLASS_TAIL).set_p50_ns(91'000'000);

  const Result result = Run({"bubbles", "--offload", "256MiB", "--bandwidth", "10GiB"});

  EXPECT_EQ(result.code, kExitOk);
  EXPECT_THAT(
      result.out,
      ::testing::EndsWith("keeping 256 MiB of each rank on the host between steps, copied at "
                          "10 GiB/s:\n"
                          "  rank 0  hidden; at least 10 ms of bubbles in each iteration have "
                          "it\n"
                          "  rank 1  not hidden: out and back take 50 ms, 32 ms are between two "
                          "steps; up to 164 MiB would be\n"));
}

TEST_F(BubblesTest, AQuestionNeedsBothNumbers) {
  EXPECT_EQ(Run({"bubbles", "--offload", "1GiB"}).code, kExitUsage);
  const Result result = Run({"bubbles", "--offload", "0", "--bandwidth", "1GiB"});
  EXPECT_EQ(result.code, kExitUsage);
  EXPECT_THAT(result.err, ::testing::HasSubstr("--offload: it must be more than 0"));
}

TEST_F(BubblesTest, SaysFirstWhatIsIdleFilledAndPaid) {
  AddRank("gpt", 0);
  AddRank("gpt", 1);
  AddBubble("gpt", 0, v1::BUBBLE_CLASS_MIDDLE);
  v1::BubbleStats& wide = AddBubble("gpt", 127, v1::BUBBLE_CLASS_SCATTERED);
  wide.set_ordinal(12);
  wide.set_count(1'234'567);
  wide.set_p50_ns(210'000);
  wide.set_p90_ns(3'000'000);
  wide.set_bubble_ns(0);
  wide.set_filled_ns(0);
  wide.set_overrun_ns(0);
  wide.set_offer(v1::BUBBLE_OFFER_UNCERTAIN);

  const Result result = Run({"bubbles", "--all"});

  EXPECT_EQ(result.code, kExitOk);
  EXPECT_EQ(result.out,
            "main job gpt: 2 ranks, iterations of 112 ms\n"
            "  state  filling\n"
            "  idle   30.0 % of device time; 90.2 % of that filled, 0.3 % overrun\n"
            "  cost   +0.31 % iteration time (95 %: -0.10..+0.72 %), within its budget of 1 %\n"
            "\n"
            "RANK  BUBBLE        COUNT    P10      P50      P90    OFFERED  FILLED  OVERRUN\n"
            "   0  middle 0        812  11 ms  12.3 ms  14.9 ms     94.1 %  90.2 %    0.3 %\n"
            " 127  scattered 12  1.23M  11 ms   210 us     3 ms  uncertain       -        -\n");
}

TEST_F(BubblesTest, GroupsByMainJob) {
  AddRank("gpt", 0).mutable_control()->set_state(v1::FILL_STATE_LEARNING);
  AddBubble("gpt", 0, v1::BUBBLE_CLASS_MIDDLE);
  AddBubble("vision", 3, v1::BUBBLE_CLASS_TAIL);

  const std::string out = Run({"bubbles"}).out;

  EXPECT_NE(out.find("main job gpt: 1 rank of 2, iterations of 112 ms\n"
                     "  state  learning its bubbles\n"),
            std::string::npos);
  EXPECT_NE(out.find("\n\nmain job vision: has ended; these were its last figures\n"
                     "  filled  90.2 % of bubble time filled, 0.3 % overrun\n"
                     "\n"
                     "RANK  BUBBLE  COUNT"),
            std::string::npos);
}

TEST_F(BubblesTest, SaysThatNoFillJobIsThere) {
  AddRank("gpt", 0);
  scheduler.devices.mutable_devices(0)->set_resident(0);
  v1::BubbleStats& bubble = AddBubble("gpt", 0, v1::BUBBLE_CLASS_MIDDLE);
  bubble.set_filled_ns(0);
  bubble.set_overrun_ns(0);

  EXPECT_NE(Run({"bubbles"})
                .out.find("  idle   30.0 % of device time; no fill job is there to take it\n"),
            std::string::npos);
  bubble.set_filled_ns(5'000'000'000);
  EXPECT_NE(Run({"bubbles"})
                .out.find("; 50.0 % of that filled, 0.0 % overrun; no fill\n"
                          "         job is there now\n"),
            std::string::npos);
}

TEST_F(BubblesTest, ShowsMoreOnAWideTerminal) {
  v1::BubbleStats& bubble = AddBubble("gpt", 127, v1::BUBBLE_CLASS_SCATTERED);
  bubble.set_ordinal(12);
  bubble.set_units(123'456);
  bubble.set_overruns(1'234);
  bubble.set_guard_ns(1'250'000);
  width = 120;

  const std::string out = Run({"bubbles"}).out;

  EXPECT_EQ(out.substr(out.find("RANK")),
            "RANK  BUBBLE        COUNT    P10      P50      P90   MEMORY  OFFERED  FILLED    TIME  "
            "OVERRUN  UNITS   LATE    GUARD\n"
            " 127  scattered 12    812  11 ms  12.3 ms  14.9 ms  1.5 GiB   94.1 %  90.2 %  9.02 s  "
            "  0.3 %   123k  1.0 %  1.25 ms\n");
}

TEST_F(BubblesTest, ShowsLatestStartsForAFewUnitLengths) {
  v1::BubbleStats& bubble = AddBubble("gpt", 0, v1::BUBBLE_CLASS_MIDDLE);
  v1::BubbleStats& closed = AddBubble("gpt", 1, v1::BUBBLE_CLASS_TAIL);
  for (int i = 0; i < 16; ++i) {
    bubble.add_unit_ns(int64_t{100'000} << i);
    bubble.add_latest_start_ns(i < 7 ? 11'000'000 - (int64_t{100'000} << i) : -1);
    closed.add_unit_ns(int64_t{100'000} << i);
    closed.add_latest_start_ns(-1);
  }

  const std::string out = Run({"bubbles", "--starts"}).out;

  EXPECT_EQ(out.substr(out.find("\n\na unit")),
            "\n\na unit of this length may start until so long after its bubble's begin:\n"
            "RANK  BUBBLE     100 us   400 us  1.6 ms  6.4 ms\n"
            "   0  middle 0  10.9 ms  10.6 ms  9.4 ms  4.6 ms\n"
            "   1  tail 0      never    never   never   never\n");
}

TEST_F(BubblesTest, SaysWhenNoUnitMayStart) {
  AddBubble("gpt", 0, v1::BUBBLE_CLASS_MIDDLE).set_offer(v1::BUBBLE_OFFER_TOO_FEW);

  const std::string out = Run({"bubbles", "--starts"}).out;

  EXPECT_NE(out.find("  too few  "), std::string::npos);
  EXPECT_NE(out.find("no unit may start in any of these bubbles yet\n"), std::string::npos);
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

TEST_F(BubblesTest, SaysWhyThereAreNone) {
  const Result result = Run({"bubbles"});

  EXPECT_EQ(result.code, kExitOk);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err,
            "pipefill: no main job is attached: bubbles show up once a training run has attached "
            "and run an iteration\n");
  AddRank("gpt", 0);
  EXPECT_EQ(Run({"bubbles"}).err,
            "pipefill: no bubbles yet: they show up once the main job has run an iteration\n");
  EXPECT_EQ(Run({"bubbles", "--main", "vision"}).err,
            "pipefill: no such main job: main_job=vision; attached: gpt\n");
}

TEST_F(BubblesTest, JsonHasRawUnitsAndLatestStarts) {
  v1::BubbleStats& bubble = AddBubble("gpt", 1, v1::BUBBLE_CLASS_MIDDLE);
  bubble.set_offer(v1::BUBBLE_OFFER_UNCERTAIN);
  bubble.set_guard_ns(5);
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
  EXPECT_EQ(first["offer"], "uncertain");
  EXPECT_EQ(first["guard_ns"], 5);
  EXPECT_EQ(first["has_ended"], true);
  EXPECT_EQ(first["latest_starts"][1]["unit_ns"], 50'000'000);
  EXPECT_EQ(first["latest_starts"][1]["latest_start_ns"], -1);
}

TEST_F(BubblesTest, JsonOfNothingIsAnEmptyList) {
  EXPECT_EQ(Run({"bubbles", "-o", "json"}).out, "{\n  \"bubbles\": []\n}\n");
}

}  // namespace
}  // namespace pipefill
