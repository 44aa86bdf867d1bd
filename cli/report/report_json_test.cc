#include "cli/report/report_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/report/testing/trace_builder.h"

namespace pipefill {
namespace {

nlohmann::json JsonOf(const Trace& trace) {
  FiguresOptions options;
  options.skip_first = 0;
  const absl::StatusOr<Figures> figures = ComputeFigures(trace, options);
  EXPECT_TRUE(figures.ok()) << figures.status();
  return nlohmann::json::parse(ReportJson(trace, *figures, CheckTrace(trace, {})));
}

TEST(ReportJsonTest, HasTheStableKeys) {
  TraceBuilder builder;
  const int rank = builder.AddRank("cpu0");
  const int task = builder.AddTask(3, "cpu0", 1);
  for (int i = 0; i < 3; ++i) {
    builder.Iteration(rank, static_cast<uint64_t>(i), i * 100);
    builder.AddUnit(task, rank, i * 100 + 22, i * 100 + 42);
  }
  const nlohmann::json json = JsonOf(builder.Read());
  for (const char* key :
       {"bubble_ratio", "bubble_filled", "slowdown", "slowdown_lo95", "slowdown_hi95",
        "overrun_ratio", "iteration_filled_p50_ns", "iteration_unfilled_p50_ns",
        "recovered_device_share", "jobs", "violations", "checked"}) {
    EXPECT_TRUE(json.contains(key)) << key;
  }
  EXPECT_DOUBLE_EQ(json["bubble_ratio"].get<double>(), 0.3);
  EXPECT_DOUBLE_EQ(json["bubble_filled"].get<double>(), 2.0 / 3);
  EXPECT_EQ(json["iteration_filled_p50_ns"].get<int64_t>(), 100'000'000);
  const auto& job = json["jobs"].at(0);
  EXPECT_EQ(job["job"].get<int64_t>(), 3);
  EXPECT_EQ(job["name"].get<std::string>(), "job3");
  EXPECT_EQ(job["units"].get<int64_t>(), 3);
  EXPECT_EQ(job["unit_cpu_ns"].get<int64_t>(), 60'000'000);
  EXPECT_EQ(job["in_bubble_cpu_ns"].get<int64_t>(), 60'000'000);
  EXPECT_EQ(job["exclusive_equivalent_ns"].get<int64_t>(), 60'000'000);
  EXPECT_EQ(json["checked"]["unit_in_window"].get<int64_t>(), 3);
  EXPECT_TRUE(json["violations"].empty());
}

TEST(ReportJsonTest, WritesNullForFiguresThatAreNotKnown) {
  TraceBuilder builder;
  builder.Iteration(builder.AddRank("cpu0"), 0, 0);
  const nlohmann::json json = JsonOf(builder.Read());
  EXPECT_TRUE(json["slowdown"].is_null());
  EXPECT_TRUE(json["slowdown_lo95"].is_null());
  EXPECT_TRUE(json["bubble_filled"].is_null());
  EXPECT_TRUE(json["jobs"].is_array());
}

TEST(ReportJsonTest, ListsViolationsAsText) {
  TraceBuilder builder;
  const int rank = builder.AddRank("cpu0");
  const int task = builder.AddTask(3, "cpu0", 1);
  builder.Iteration(rank, 0, 0);
  builder.AddSample(task, 50, 101);
  const nlohmann::json json = JsonOf(builder.Read());
  ASSERT_EQ(json["violations"].size(), 1u);
  EXPECT_EQ(json["violations"][0].get<std::string>(),
            "memory_below_cap: job 3 attempt 1 on cpu0 at 50.000 ms: 101 bytes, cap 100");
  EXPECT_EQ(json["violation_count"].get<int64_t>(), 1);
}

}  // namespace
}  // namespace pipefill
