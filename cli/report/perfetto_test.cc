#include "cli/report/perfetto.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "cli/report/synthetic_trace.h"
#include "cli/report/testing/trace_builder.h"
#include "cli/report/trace_reader.h"

namespace pipefill {
namespace {

using nlohmann::json;

std::string Written(const Trace& trace) {
  std::string text;
  WritePerfetto(trace, [&text](absl::string_view piece) { text += std::string(piece); });
  return text;
}

json Events(const Trace& trace) { return json::parse(Written(trace))["traceEvents"]; }

std::vector<json> Named(const json& events, const std::string& name) {
  std::vector<json> found;
  for (const json& event : events) {
    if (event["name"] == name) found.push_back(event);
  }
  return found;
}

TEST(PerfettoTest, NamesDevicesAndThreads) {
  std::map<int, std::string> processes;
  std::map<std::pair<int, int>, std::string> threads;
  for (const json& event : Events(SmallRun().Read())) {
    if (event["ph"] != "M") continue;
    if (event["name"] == "process_name") processes[event["pid"]] = event["args"]["name"];
    if (event["name"] == "thread_name") {
      threads[{event["pid"], event["tid"]}] = event["args"]["name"];
    }
  }
  EXPECT_EQ(processes, (std::map<int, std::string>{{1, "n1/cpu0"}, {2, "n1/cpu1"}}));
  EXPECT_EQ((threads[{1, 1}]), "main job gpt rank 0 stage 0");
  EXPECT_EQ((threads[{2, 2}]), "bubbles");
  EXPECT_EQ((threads[{1, 10}]), "job 1 job1 attempt 1");
}

TEST(PerfettoTest, TimesAreMicrosecondsWithFractionsFromTheFirstThing) {
  TraceBuilder builder;
  const int rank = builder.AddRank("cpu0");  // attached at 0 ms
  builder.Iteration(rank, 7, 10.0005);
  const json events = Events(builder.Read());
  const std::vector<json> iteration = Named(events, "iteration 7");
  ASSERT_EQ(iteration.size(), 1u);
  EXPECT_DOUBLE_EQ(iteration[0]["ts"].get<double>(), 10'000.5);
  EXPECT_DOUBLE_EQ(iteration[0]["dur"].get<double>(), 100'000);
  EXPECT_DOUBLE_EQ(Named(events, "head 0")[0]["ts"].get<double>(), 30'000.5);
}

TEST(PerfettoTest, MarksHoldOuts) {
  const json events = Events(SmallRun().Read());
  int marked = 0;
  for (const json& event : events) {
    const std::string name = event["name"];
    if (name.find(" (hold-out)") == std::string::npos) continue;
    ++marked;
    EXPECT_EQ(event["cname"], "grey");
  }
  EXPECT_EQ(marked, 40);  // of 40 iterations on each of two devices
}

TEST(PerfettoTest, ShowsOverrunInsideItsUnit) {
  TraceBuilder builder;
  const int rank = builder.AddRank("cpu0");
  const int task = builder.AddTask(3, "cpu0", 1);
  builder.Iteration(rank, 1, 10);  // bubble from 30 to 60 ms
  builder.AddUnit(task, rank, 50, 65);
  const json events = Events(builder.Read());
  const json unit = Named(events, "unit 1")[0];
  EXPECT_EQ(unit["args"]["cpu_us"], 15'000);
  EXPECT_EQ(unit["args"]["after_begin_us"], 20'000);
  const json overrun = Named(events, "overrun")[0];
  EXPECT_EQ(overrun["ts"], 60'000);
  EXPECT_EQ(overrun["dur"], 5'000);
  EXPECT_EQ(overrun["tid"], unit["tid"]);
}

TEST(PerfettoTest, ShowsTheCourseOfControlAndFailures) {
  TraceBuilder builder;
  const int rank = builder.AddRank("cpu0");
  builder.Iteration(rank, 1, 10);
  v1::FillControl& control = builder.AddControl(rank, 200, 0.25);
  control.set_hold_outs(9);
  control.set_slowdown(0.0125);
  control.set_slowdown_low(0.011);
  control.set_slowdown_high(0.014);
  v1::FillControl& later = builder.AddControl(rank, 300, 0.02);
  later.set_state(v1::FILL_STATE_BACKED_OFF);
  later.set_text("1.25 % \"exceeds\"");
  builder.BeginFailure(rank, 400);
  builder.EndFailure(rank, 450);
  const json events = Events(builder.Read());
  EXPECT_EQ(Named(events, "lambda")[0]["args"]["lambda"], 0.25);
  EXPECT_EQ(Named(events, "slowdown in %")[0]["args"],
            json({{"budget", 1}, {"slowdown", 1.25}, {"low", 1.1}, {"high", 1.4}}));
  EXPECT_EQ(Named(events, "slowdown in %")[1]["args"], json({{"budget", 1}}));
  EXPECT_EQ(Named(events, "backed_off")[0]["args"]["reason"], "1.25 % \"exceeds\"");
  EXPECT_EQ(Named(events, "failure")[0]["dur"], 50'000);
}

TEST(PerfettoTest, AnEmptyTraceIsEmptyJson) { EXPECT_EQ(Events(Trace()), json::array()); }

// Spans of a thread lie inside each other or apart, and all in the trace.
void ExpectNested(const json& events, double last_us) {
  std::map<std::pair<int, int>, std::vector<std::pair<double, double>>> threads;
  for (const json& event : events) {
    if (event["ph"] != "X") continue;
    const double begin_us = event["ts"];
    const double end_us = begin_us + event["dur"].get<double>();
    EXPECT_GE(begin_us, 0);
    EXPECT_LE(end_us, last_us);
    threads[{event["pid"], event["tid"]}].emplace_back(begin_us, -end_us);
  }
  EXPECT_GE(threads.size(), 6u);
  for (auto& [thread, spans] : threads) {
    std::sort(spans.begin(), spans.end());
    std::vector<double> open;
    for (const auto& [begin_us, negative_end_us] : spans) {
      while (!open.empty() && open.back() <= begin_us + 1e-4) open.pop_back();
      if (!open.empty()) {
        EXPECT_LE(-negative_end_us, open.back() + 1e-4);
      }
      open.push_back(-negative_end_us);
    }
  }
}

TEST(PerfettoTest, SpansNestAndLieInTheTraceAndALargeOneStaysBounded) {
  SyntheticOptions options;
  options.iterations = 2000;
  options.stages = 4;
  options.jobs = {{.id = 1, .device = 0}, {.id = 2, .device = 1}};
  const Trace trace = ReadTraces({{"n1", SerializeTrace(SyntheticRecords(options))}});
  size_t pieces = 0;
  size_t largest = 0;
  std::string text;
  WritePerfetto(trace, [&](absl::string_view piece) {
    ++pieces;
    largest = std::max(largest, piece.size());
    text += std::string(piece);
  });
  size_t shapes = 0;
  for (const RankTrace& rank : trace.ranks) {
    shapes += rank.iterations.size() + rank.bubbles.size() + rank.chunks.size();
  }
  for (const TaskTrace& task : trace.tasks) shapes += task.units.size();
  EXPECT_GT(shapes, 100'000u);
  EXPECT_GT(pieces, 100u);
  EXPECT_LT(largest, kPerfettoPieceBytes + 4096);
  EXPECT_LT(text.size(), 200 * shapes);
  const AgentStart& start = trace.starts[0];
  const double last_us = static_cast<double>(start.last_ns - start.start_ns) / 1e3;
  ExpectNested(json::parse(text)["traceEvents"], last_us);
}

}  // namespace
}  // namespace pipefill
