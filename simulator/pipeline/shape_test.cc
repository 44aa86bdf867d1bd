#include "simulator/pipeline/shape.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace pipefill::simulator {
namespace {

std::string ErrorOf(const std::string& text, int chunks = 0) {
  return std::string(ParsePipeline(text, chunks).status().message());
}

TEST(ShapeTest, ReadsStagesMicrobatchesAndSchedule) {
  EXPECT_EQ(ParsePipeline("16x8@1f1b", 0).value(),
            (PipelineShape{Schedule::kOneForwardOneBackward, 16, 8, 1}));
  EXPECT_EQ(ParsePipeline("4x8@interleaved", 0).value(),
            (PipelineShape{Schedule::kInterleaved, 4, 8, 2}));
  EXPECT_EQ(ParsePipeline("4x8@interleaved", 3).value(),
            (PipelineShape{Schedule::kInterleaved, 4, 8, 3}));
  EXPECT_EQ(ParsePipeline("4x8@zb-v", 0).value(), (PipelineShape{Schedule::kZeroBubbleV, 4, 8, 2}));
}

TEST(ShapeTest, EveryScheduleIsReadByItsWord) {
  for (const Schedule schedule : AllSchedules()) {
    EXPECT_EQ(ParsePipeline("4x8@" + Word(schedule), 0).value().schedule, schedule);
  }
}

TEST(ShapeTest, WhatIsNoPipelineGetsAnExample) {
  for (const char* text : {"", "16", "16x8", "x8@1f1b", "16x@1f1b", "16x8@", "16x8x2@1f1b"}) {
    EXPECT_NE(ErrorOf(text).find("as 16x8@1f1b"), std::string::npos) << text;
  }
  EXPECT_NE(ErrorOf("16x8@1f2b").find("gpipe, 1f1b, interleaved, zb-h1, zb-v"), std::string::npos);
}

TEST(ShapeTest, NumbersOutsideTheirRangeNameIt) {
  EXPECT_NE(ErrorOf("0x8@1f1b").find("from 1 to 1024"), std::string::npos);
  EXPECT_NE(ErrorOf("2x-1@1f1b").find("from 1 to 4096"), std::string::npos);
  EXPECT_NE(ErrorOf("1024x4096@gpipe").find("at most"), std::string::npos);
}

TEST(ShapeTest, ChunksMustSuitTheSchedule) {
  EXPECT_NE(ErrorOf("4x8@1f1b", 2).find("one chunk a stage"), std::string::npos);
  EXPECT_NE(ErrorOf("4x8@zb-v", 3).find("two chunks a stage"), std::string::npos);
  EXPECT_NE(ErrorOf("4x6@interleaved").find("multiple of its 4 stages"), std::string::npos);
}

TEST(ShapeTest, EveryPartOfTheModelHasOnePlace) {
  for (const PipelineShape& shape : {PipelineShape{Schedule::kInterleaved, 4, 8, 3},
                                     PipelineShape{Schedule::kZeroBubbleV, 5, 8, 2}}) {
    std::set<int> parts;
    for (int stage = 0; stage < shape.stages; ++stage) {
      for (int chunk = 0; chunk < shape.chunks; ++chunk) {
        const int part = VirtualStage(shape, stage, chunk);
        parts.insert(part);
        EXPECT_EQ(PlaceOf(shape, part).stage, stage);
        EXPECT_EQ(PlaceOf(shape, part).chunk, chunk);
      }
    }
    EXPECT_EQ(static_cast<int>(parts.size()), shape.stages * shape.chunks);
    EXPECT_EQ(*parts.begin(), 0);
  }
}

TEST(ShapeTest, AVTurnsOnTheLastStage) {
  const PipelineShape shape = {Schedule::kZeroBubbleV, 4, 8, 2};
  EXPECT_EQ(PlaceOf(shape, 3).stage, 3);
  EXPECT_EQ(PlaceOf(shape, 4).stage, 3);
  EXPECT_EQ(PlaceOf(shape, 7).stage, 0);
}

}  // namespace
}  // namespace pipefill::simulator
