#include "cli/plan/model_options.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/match.h"

namespace pipefill {
namespace {

ModelOptions Options() {
  ModelOptions options;
  options.pipeline = "2x4@1f1b";
  options.forward = "10ms";
  return options;
}

std::string ErrorOf(const ModelOptions& options) {
  const auto model = ModelOf(options);
  EXPECT_EQ(model.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(model.status().message());
}

TEST(ModelOptionsTest, TheBackwardIsTwiceTheForwardUnlessItIsSaid) {
  const auto model = ModelOf(Options()).value();
  ASSERT_EQ(model.times.stages.size(), 2u);
  EXPECT_EQ(model.times.stages[0].chunks[0].forward_ns, 10'000'000);
  EXPECT_EQ(model.times.stages[0].chunks[0].backward_input_ns, 10'000'000);
  EXPECT_EQ(model.times.stages[0].chunks[0].backward_weight_ns, 10'000'000);
  EXPECT_FALSE(model.times.has_optimizer);
  EXPECT_FALSE(model.memory.has_value());

  ModelOptions options = Options();
  options.backward = "15ms";
  options.weight_gradient = "4ms";
  options.tail = "3ms";
  const auto said = ModelOf(options).value();
  EXPECT_EQ(said.times.stages[1].chunks[0].backward_input_ns, 11'000'000);
  EXPECT_EQ(said.times.stages[1].chunks[0].backward_weight_ns, 4'000'000);
  EXPECT_TRUE(said.times.has_optimizer);
  EXPECT_EQ(said.times.stages[1].optimizer_ns, 3'000'000);
}

TEST(ModelOptionsTest, ChunksShareTheTimesOfTheirStage) {
  ModelOptions options = Options();
  options.pipeline = "2x4@interleaved";
  options.chunks = 4;
  const auto model = ModelOf(options).value();
  ASSERT_EQ(model.times.stages[0].chunks.size(), 4u);
  EXPECT_EQ(model.times.stages[0].chunks[3].forward_ns, 2'500'000);
}

TEST(ModelOptionsTest, TheStagesFileGoesOverTheOptions) {
  ModelOptions options = Options();
  options.stages_origin = "stages.json";
  options.stages_text = R"({"stages": [{"forward": "1ms"}, {"backward": "3ms"}]})";
  const auto model = ModelOf(options).value();
  EXPECT_EQ(model.times.stages[0].chunks[0].forward_ns, 1'000'000);
  EXPECT_EQ(model.times.stages[1].chunks[0].forward_ns, 10'000'000);
  EXPECT_EQ(model.times.stages[1].chunks[0].backward_weight_ns, 1'500'000);
}

TEST(ModelOptionsTest, WhatIsWrongInTheStagesFileIsNamed) {
  ModelOptions options = Options();
  options.stages_origin = "stages.json";
  for (const auto& [text, error] :
       {std::pair<const char*, const char*>{"[]",
                                            "stages.json: no list of stages; write {\"stages\""},
        {R"({"stages": [{}]})", "stages.json: 1 stages, but --pipeline has 2"},
        {R"({"stages": [{}, 3]})", "stages.json: stages[1]: not an object"},
        {R"({"stages": [{}, {"forward": 3}]})", "stages.json: stages[1].forward: not a text"},
        {R"({"stages": [{"forwards": "1ms"}, {}]})", "stages[0].forwards: no such field"},
        {R"({"stages": [{"forward": "fast"}, {}]})", "stages.json: stages[0].forward: "}}) {
    options.stages_text = text;
    EXPECT_TRUE(absl::StrContains(ErrorOf(options), error)) << ErrorOf(options);
  }
}

TEST(ModelOptionsTest, OptionsThatMakeNoSenseAreNamed) {
  ModelOptions options = Options();
  options.forward = "";
  EXPECT_TRUE(absl::StrContains(ErrorOf(options), "--forward 10ms"));
  options = Options();
  options.weight_gradient = "50ms";
  EXPECT_TRUE(absl::StrContains(ErrorOf(options), "longer than the backward"));
  options = Options();
  options.transfer = "2h";
  EXPECT_TRUE(absl::StrContains(ErrorOf(options), "--transfer: 2h is more than an hour"));
  options = Options();
  options.straggler = "2:1.5";
  EXPECT_TRUE(absl::StrContains(ErrorOf(options), "--straggler"));
  options = Options();
  options.activation = "1GiB";
  EXPECT_TRUE(absl::StrContains(ErrorOf(options), "--memory 80GiB"));
  options = Options();
  options.waits_for_all = true;
  EXPECT_TRUE(absl::StrContains(ErrorOf(options), "--tail 5ms"));
  options = Options();
  options.pipeline = "2x4";
  EXPECT_TRUE(absl::StrContains(ErrorOf(options), "--pipeline: not a pipeline: 2x4"));
}

TEST(ModelOptionsTest, MemoryIsThatOfEachStage) {
  ModelOptions options = Options();
  options.memory = "16GiB";
  options.static_bytes = "6GiB";
  options.activation = "1GiB";
  const auto model = ModelOf(options).value();
  ASSERT_TRUE(model.memory.has_value());
  EXPECT_EQ((*model.memory)[1].static_bytes, int64_t{6} << 30);
  EXPECT_EQ((*model.memory)[1].per_chunk.kept_for_weight, int64_t{1} << 30);
}

TEST(ModelOptionsTest, StragglersAndJitterReachTheModel) {
  ModelOptions options = Options();
  options.straggler = "1:1.5";
  options.jitter = "5%";
  options.seed = 9;
  const auto model = ModelOf(options).value();
  EXPECT_EQ(model.times.stages[0].slowness, 1);
  EXPECT_EQ(model.times.stages[1].slowness, 1.5);
  EXPECT_DOUBLE_EQ(model.times.jitter.share, 0.05);
  EXPECT_EQ(model.times.jitter.seed, 9u);
}

}  // namespace
}  // namespace pipefill
