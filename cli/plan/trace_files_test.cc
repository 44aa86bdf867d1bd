#include "cli/plan/trace_files.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/plan/kineto_plan.h"
#include "cli/report/testing/trace_builder.h"

namespace pipefill {
namespace {

std::string PathOf(const std::string& name) {
  return absl::StrCat(testing::TempDir(), "/",
                      testing::UnitTest::GetInstance()->current_test_info()->name(), ".", name);
}

std::string Write(const std::string& name, const std::string& text) {
  const std::string path = PathOf(name);
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

std::string WritePacked(const std::string& name, const std::string& text) {
  const std::string path = PathOf(name);
  gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
  return path;
}

std::string ReadBytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// `iterations` of 100 ms, 40 of them idle.
std::string Kineto(int iterations) {
  std::string text = "{\"traceEvents\": [";
  for (int i = 0; i < iterations; ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ",",
                    R"({"ph":"X","cat":"gpu_user_annotation","name":"ProfilerStep#)", i,
                    R"(","pid":0,"tid":7,"ts":)", i * 100'000, R"(,"dur":100000},)",
                    R"({"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":)", i * 100'000,
                    R"(,"dur":60000,"args":{"device":0,"stream":7}})");
  }
  return text + "]}";
}

absl::Status StatusOf(const std::vector<std::string>& paths) {
  return PlanOfTraceFiles(paths, kGapMinNs).status();
}

TEST(TraceFilesTest, PlainAndPackedFilesGiveTheSamePlan) {
  const IdlePlan plain = PlanOfTraceFiles({Write("json", Kineto(5))}, kGapMinNs).value();
  const IdlePlan packed = PlanOfTraceFiles({WritePacked("json.gz", Kineto(5))}, kGapMinNs).value();
  EXPECT_EQ(plain.iterations, 5);
  EXPECT_DOUBLE_EQ(plain.bubble_share, 0.4);
  EXPECT_EQ(packed.iterations, 5);
  EXPECT_DOUBLE_EQ(packed.bubble_share, 0.4);
}

TEST(TraceFilesTest, APackedFileThatIsCutOffOrDamagedIsToldAsSuch) {
  const std::string bytes = ReadBytes(WritePacked("json.gz", Kineto(500)));
  const absl::Status cut = StatusOf({Write("cut.gz", bytes.substr(0, bytes.size() / 2))});
  EXPECT_EQ(cut.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(absl::StrContains(cut.message(), "is cut off")) << cut;
  std::string broken = bytes;
  for (size_t i = 40; i < 60; ++i) broken[i] = static_cast<char>(~broken[i]);
  const absl::Status damaged = StatusOf({Write("broken.gz", broken)});
  EXPECT_EQ(damaged.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(absl::StrContains(damaged.message(), "broken.gz: ")) << damaged;
}

TEST(TraceFilesTest, WhatAgentdRecordedIsKnownByItsBytes) {
  TraceBuilder builder;
  const int rank = builder.AddRank("cpu0");
  for (int i = 0; i < 40; ++i) builder.Iteration(rank, static_cast<uint64_t>(i), i * 125.0);
  const IdlePlan plan = PlanOfTraceFiles({Write("pb", builder.bytes())}, kGapMinNs).value();
  EXPECT_EQ(plan.iteration_ns, 125'000'000);
}

// Records begin with their length, which may be the number of a bracket.
TEST(TraceFilesTest, ARecordAsLongAsABracketIsNoJson) {
  for (const size_t length : {size_t{'{'}, size_t{'['}}) {
    size_t pad = 0;
    std::string bytes;
    while (bytes.empty() || (static_cast<unsigned char>(bytes[0]) != length && pad < 200)) {
      TraceBuilder builder;
      builder.records()[0].mutable_start()->set_node(std::string(++pad, 'n'));
      const int rank = builder.AddRank("cpu0");
      for (int i = 0; i < 40; ++i) builder.Iteration(rank, static_cast<uint64_t>(i), i * 125.0);
      bytes = builder.bytes();
    }
    ASSERT_EQ(static_cast<unsigned char>(bytes[0]), length);
    const auto plan = PlanOfTraceFiles({Write("pb", bytes)}, kGapMinNs);
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_EQ(plan->iteration_ns, 125'000'000);
  }
}

TEST(TraceFilesTest, FilesThatAreNoTraceOrNotThereAreNamed) {
  EXPECT_EQ(StatusOf({"/none.json"}).code(), absl::StatusCode::kNotFound);
  const absl::Status empty = StatusOf({Write("empty", "")});
  EXPECT_TRUE(absl::StrContains(empty.message(), "the file is empty")) << empty;
  const absl::Status text = StatusOf({Write("txt", "hello, this is no trace of anything\n")});
  EXPECT_EQ(text.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(absl::StrContains(text.message(), "no training run in it")) << text;
}

TEST(TraceFilesTest, KindsAreNotMixed) {
  TraceBuilder builder;
  builder.AddRank("cpu0");
  const absl::Status mixed = StatusOf({Write("pb", builder.bytes()), Write("json", Kineto(3))});
  EXPECT_TRUE(absl::StrContains(mixed.message(), "give one kind")) << mixed;
}

}  // namespace
}  // namespace pipefill
