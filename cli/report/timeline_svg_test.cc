#include "cli/report/timeline_svg.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/match.h"

namespace pipefill {
namespace {

Timeline OneDevice() {
  Timeline timeline;
  timeline.jobs.push_back({.id = 3, .name = "embed"});
  timeline.bubble_names = {"head 0"};
  TimelineDevice device;
  device.name = "n1/cpu0";
  device.iterations.push_back(
      {.number = 7, .begin_ns = 0, .end_ns = 100'000'000, .is_held_out = true});
  device.bubbles.push_back(
      {.begin_ns = 0, .end_ns = 20'000'000, .name = 0, .filled_ns = 5'000'000});
  device.work.push_back(
      {.begin_ns = 20'000'000, .end_ns = 100'000'000, .kind = ChunkKind::kForward});
  device.units.push_back({.begin_ns = 1'000'000,
                          .inside_end_ns = 20'000'000,
                          .end_ns = 24'000'000,
                          .cpu_ns = 22'000'000,
                          .overrun_ns = 3'000'000,
                          .job = 0});
  timeline.devices.push_back(device);
  return timeline;
}

TEST(TimelineSvgTest, DrawsEveryKindOfShapeAndSaysWhatItIs) {
  const std::string svg = TimelineSvg(OneDevice(), {.title = "a run"});
  for (const char* text :
       {"a run", "n1/cpu0", "iteration 7 - hold-out", "fill job embed", "overrun",
        "main job: forward", "bubble", "class=\"job0\"", "url(#idle)"}) {
    EXPECT_TRUE(absl::StrContains(svg, text)) << text;
  }
}

TEST(TimelineSvgTest, TheLegendKnowsHoldOutsOnlyWhereThereAreSome) {
  Timeline timeline = OneDevice();
  EXPECT_TRUE(absl::StrContains(TimelineSvg(timeline, {.title = "a run"}), "hold-out iteration"));
  timeline.devices[0].iterations[0].is_held_out = false;
  EXPECT_FALSE(absl::StrContains(TimelineSvg(timeline, {.title = "a run"}), "hold-out"));
}

TEST(TimelineSvgTest, OtherWorkIsCalledAsTheCallerSays) {
  Timeline timeline = OneDevice();
  timeline.devices[0].work[0].kind = ChunkKind::kOther;
  EXPECT_TRUE(absl::StrContains(TimelineSvg(timeline, {.title = "", .other_work = "reduction"}),
                                "reduction</text>"));
}

TEST(TimelineSvgTest, StagesAreLeftOutWhereNobodyKnowsThem) {
  EXPECT_TRUE(absl::StrContains(TimelineSvg(OneDevice(), {.title = ""}), "stage 0"));
  EXPECT_FALSE(
      absl::StrContains(TimelineSvg(OneDevice(), {.title = "", .shows_stages = false}), "stage 0"));
}

TEST(TimelineSvgTest, LengthsAreShownWhereThePointerIsIfAsked) {
  const std::string svg = TimelineSvg(OneDevice(), {.title = "", .shows_lengths = true});
  EXPECT_TRUE(absl::StrContains(svg, "<title>bubble head 0, 20 ms</title></rect>"));
  EXPECT_TRUE(absl::StrContains(svg, "<title>fill job embed, 19 ms</title></rect>"));
  EXPECT_FALSE(absl::StrContains(TimelineSvg(OneDevice(), {.title = ""}), "</title></rect>"));
}

TEST(TimelineSvgTest, LowerRowsMakeALowerPicture) {
  const auto height_of = [](const SvgOptions& options) {
    const std::string svg = TimelineSvg(OneDevice(), options);
    return std::stoi(svg.substr(svg.find("height=\"") + 8));
  };
  EXPECT_EQ(height_of({.title = ""}) - height_of({.title = "", .row_height = 22}), 40);
}

TEST(TimelineSvgTest, PicturesOfAPageHaveTheirOwnHatching) {
  const std::string svg = TimelineSvg(OneDevice(), {.title = "", .hatch_id = "idle-2"});
  EXPECT_TRUE(absl::StrContains(svg, "<pattern id=\"idle-2\" "));
  EXPECT_TRUE(absl::StrContains(svg, "url(#idle-2)"));
  EXPECT_FALSE(absl::StrContains(svg, "url(#idle)"));
}

TEST(TimelineSvgTest, EscapesNames) {
  Timeline timeline = OneDevice();
  timeline.jobs[0].name = "<script>";
  const std::string svg = TimelineSvg(timeline, {.title = "a & b"});
  EXPECT_FALSE(absl::StrContains(svg, "<script>"));
  EXPECT_TRUE(absl::StrContains(svg, "&lt;script&gt;"));
  EXPECT_TRUE(absl::StrContains(svg, "a &amp; b"));
}

TEST(TimelineSvgTest, SaysHowManyDevicesItLeavesOut) {
  Timeline timeline = OneDevice();
  for (int i = 0; i < 4; ++i) timeline.devices.push_back(timeline.devices[0]);
  EXPECT_TRUE(absl::StrContains(TimelineSvg(timeline, {.title = "", .devices_max = 2}),
                                "3 more devices are not shown"));
}

TEST(TimelineSvgTest, DrawsAnEmptyRun) {
  EXPECT_TRUE(absl::StrContains(TimelineSvg(Timeline{}, {.title = "none"}), "</svg>"));
}

}  // namespace
}  // namespace pipefill
