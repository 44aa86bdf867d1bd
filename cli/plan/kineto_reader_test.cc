#include "cli/plan/kineto_reader.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "absl/strings/match.h"

namespace pipefill {
namespace {

absl::StatusOr<GpuTrace> Read(const std::string& text) {
  std::istringstream in(text);
  return ReadKineto(in, "rank0.json");
}

// Written by hand after what the profiler writes, with what surrounds it there.
constexpr char kTrace[] = R"({
  "schemaVersion": 1,
  "deviceProperties": [{"id": 0, "name": "a GPU", "rank": 9, "traceEvents": [1]}],
  "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8},
  "traceEvents": [
    {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 10, "tid": 10, "ts": 1.5, "dur": 2,
     "args": {"External id": 1, "device": 5, "Input Dims": [[2, 3], []]}},
    {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 1000.25, "dur": 3.5,
     "args": {"queued": 0, "device": 0, "context": 1, "stream": 7, "grid": [1, 2, 3]}},
    {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD", "pid": 0, "tid": 7, "ts": 1010,
     "dur": 1, "args": {"device": 0, "stream": 7}},
    {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 1, "tid": 7, "ts": 2000, "dur": 4,
     "args": {"device": 1, "stream": 7}},
    {"ph": "X", "cat": "kernel", "name": "no stream", "pid": 1, "tid": "x", "ts": 2000, "dur": 4,
     "args": {"device": 1}},
    {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#12", "pid": 10, "tid": 10,
     "ts": 900, "dur": 500},
    {"ph": "X", "cat": "gpu_user_annotation", "name": "ProfilerStep#12", "pid": 0, "tid": 7,
     "ts": 1000, "dur": 400, "args": {"External id": 4}},
    {"ph": "X", "cat": "user_annotation", "name": "Optimizer.step#Adam", "pid": 10, "tid": 10,
     "ts": 900, "dur": 50},
    {"ph": "M", "name": "process_name", "pid": 0, "args": {"name": "python"}},
    {"ph": "f", "id": 3, "pid": 0, "tid": 7, "ts": 1000.25, "cat": "ac2g", "name": "ac2g"}
  ],
  "traceName": "x.json"
})";

TEST(KinetoReaderTest, KeepsTheWorkOfGpusAndTheMarksOfSteps) {
  const GpuTrace trace = Read(kTrace).value();
  EXPECT_EQ(trace.rank, 3);
  EXPECT_EQ(trace.events, 10);
  EXPECT_EQ(trace.malformed, 1);
  ASSERT_EQ(trace.devices.size(), 2u);
  const std::vector<GpuWork>& first = trace.devices.at(0);
  ASSERT_EQ(first.size(), 2u);
  EXPECT_EQ(first[0].begin_ns, 1'000'250);
  EXPECT_EQ(first[0].end_ns, 1'003'750);
  EXPECT_EQ(first[0].stream, 7);
  EXPECT_TRUE(first[0].is_kernel);
  EXPECT_FALSE(first[1].is_kernel);
  EXPECT_EQ(trace.names[first[0].name], "gemm");
  EXPECT_EQ(trace.devices.at(1)[0].name, first[0].name);
  ASSERT_EQ(trace.steps.size(), 2u);
  EXPECT_EQ(trace.steps[0].number, 12);
  EXPECT_FALSE(trace.steps[0].device.has_value());
  EXPECT_EQ(trace.steps[1].device, 0);
  EXPECT_EQ(trace.steps[1].begin_ns, 1'000'000);
}

TEST(KinetoReaderTest, NumbersThatCannotBeAreMalformed) {
  const std::string begin = R"([{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, )";
  EXPECT_EQ(Read(begin + R"("ts": 1, "dur": 2}])").value().malformed, 0);
  for (const char* end :
       {R"("ts": 5e15, "dur": 2}])", R"("ts": 3e15, "dur": 3e15}])", R"("ts": 1, "dur": -1}])",
        R"("ts": 1, "dur": 2, "tid": 1e300}])", R"("ts": 1, "dur": 2, "pid": -1e19}])"}) {
    EXPECT_EQ(Read(begin + end).value().malformed, 1) << end;
  }
}

TEST(KinetoReaderTest, ReadsABareListOfEventsToo) {
  const GpuTrace trace = Read(R"([{"ph":"X","cat":"kernel","name":"k","ts":1,"dur":2,
      "args":{"device":0,"stream":7}}])")
                             .value();
  EXPECT_EQ(trace.devices.at(0).size(), 1u);
  EXPECT_FALSE(trace.rank.has_value());
}

TEST(KinetoReaderTest, ReadsTheCategoriesOfOlderProfilersAndPidAndTidAsDeviceAndStream) {
  const GpuTrace trace = Read(R"([
      {"ph":"X","cat":"Kernel","name":"k","pid":2,"tid":9,"ts":1,"dur":2},
      {"ph":"X","cat":"Memcpy","name":"m","pid":2,"tid":9,"ts":4,"dur":2,"args":{}},
      {"ph":"X","cat":"gpu_user_Annotation","name":"ProfilerStep#1","pid":2,"tid":9,"ts":1,
       "dur":9}])")
                             .value();
  ASSERT_EQ(trace.devices.at(2).size(), 2u);
  EXPECT_EQ(trace.devices.at(2)[0].stream, 9);
  EXPECT_TRUE(trace.devices.at(2)[0].is_kernel);
  EXPECT_FALSE(trace.devices.at(2)[1].is_kernel);
  EXPECT_EQ(trace.steps.at(0).device, 2);
}

TEST(KinetoReaderTest, ATraceThatIsCutOffAnywhereIsAnErrorAndNeverHalfAnAnswer) {
  const std::string whole = kTrace;
  for (size_t length = 0; length + 1 < whole.size(); ++length) {
    const auto trace = Read(whole.substr(0, length));
    ASSERT_EQ(trace.status().code(), absl::StatusCode::kInvalidArgument) << length;
  }
  const auto cut = Read(whole.substr(0, whole.size() / 2));
  EXPECT_TRUE(absl::StrContains(cut.status().message(), "rank0.json: cut off after 3 events"))
      << cut.status();
}

TEST(KinetoReaderTest, WhatIsNoTraceIsToldApart) {
  EXPECT_TRUE(absl::StrContains(Read("PK\x03 zip").status().message(), "no JSON from byte 1"))
      << Read("PK\x03 zip").status();
  EXPECT_TRUE(
      absl::StrContains(Read(R"({"stages": []})").status().message(), "no list traceEvents"));
  EXPECT_TRUE(absl::StrContains(Read(R"({"a": {"traceEvents": []}})").status().message(),
                                "no list traceEvents"));
}

TEST(KinetoReaderTest, NonsenseInAnEventLeavesItOut) {
  for (const char* event :
       {R"({"ph":"X","cat":"kernel","ts":"soon","dur":1,"args":{"device":0,"stream":7}})",
        R"({"ph":"X","cat":"kernel","ts":1,"dur":-1,"args":{"device":0,"stream":7}})",
        R"({"ph":"X","cat":"kernel","ts":1e300,"dur":1,"args":{"device":0,"stream":7}})",
        R"({"ph":"X","cat":"kernel","ts":1,"dur":1,"args":[0,7]})"}) {
    const GpuTrace trace = Read(std::string("[") + event + "]").value();
    EXPECT_EQ(trace.malformed, 1) << event;
    EXPECT_TRUE(trace.devices.empty()) << event;
  }
}

}  // namespace
}  // namespace pipefill
