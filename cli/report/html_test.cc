#include "cli/report/html.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/match.h"
#include "cli/report/page_data.h"
#include "cli/report/synthetic_trace.h"
#include "cli/report/testing/trace_builder.h"
#include "cli/report/trace_reader.h"

namespace pipefill {
namespace {

std::string PageOf(const Trace& trace) {
  const absl::StatusOr<Figures> figures = ComputeFigures(trace, {});
  EXPECT_TRUE(figures.ok()) << figures.status();
  return ReportPage(trace, *figures, CheckTrace(trace, {}));
}

Trace SyntheticTrace(const SyntheticOptions& options) {
  return ReadTraces({{"n1", SerializeTrace(SyntheticRecords(options))}});
}

TEST(HtmlTest, NeedsNothingFromOutside) {
  const std::string page = PageOf(SyntheticTrace({}));
  EXPECT_FALSE(absl::StrContains(page, "src="));
  EXPECT_FALSE(absl::StrContains(page, "href="));
  EXPECT_FALSE(absl::StrContains(page, "@import"));
  // The name of the SVG format is no address that anybody fetches.
  const std::string name = "http://www.w3.org/2000/svg";
  for (size_t at = page.find("://"); at != std::string::npos; at = page.find("://", at + 1)) {
    EXPECT_EQ(page.substr(at - 4, name.size()), name);
  }
}

TEST(HtmlTest, EscapesNamesFromTheTrace) {
  TraceBuilder builder;
  builder.AddRank("<img onerror=x>", 0, "</script><b>");
  builder.Iteration(1, 1, 0);
  const int task = builder.AddTask(1, "<img onerror=x>", 1);
  builder.records().back().mutable_task_attached()->set_job_name("<i>\"'&");
  builder.AddUnit(task, 1, 21, 22);
  const std::string page = PageOf(builder.Read());
  EXPECT_FALSE(absl::StrContains(page, "<img"));
  EXPECT_FALSE(absl::StrContains(page, "</script><b>"));
  EXPECT_FALSE(absl::StrContains(page, "<i>\""));
  EXPECT_TRUE(absl::StrContains(page, "&lt;img onerror=x&gt;"));
}

TEST(HtmlTest, SaysWhetherRulesWereBroken) {
  TraceBuilder builder;
  builder.AddRank("cpu0");
  builder.Iteration(1, 1, 0);
  const int task = builder.AddTask(1, "cpu0", 1);
  builder.AddUnit(task, 1, 21, 22).set_latest_start_ns(0);
  const std::string page = PageOf(builder.Read());
  EXPECT_TRUE(absl::StrContains(page, "Rules broken"));
  EXPECT_TRUE(absl::StrContains(page, "unit_in_window: job 1 attempt 1"));
}

TEST(PageDataTest, HoldsEveryIterationOfAShortRun) {
  SyntheticOptions options;
  options.iterations = 60;
  const Trace trace = SyntheticTrace(options);
  const auto json = nlohmann::json::parse(PageData(trace, *ComputeFigures(trace, {})));
  EXPECT_TRUE(json["shown"]["is_all"].get<bool>());
  EXPECT_EQ(json["rows"].size(), 60 * json["row_width"].get<size_t>());
  ASSERT_EQ(json["devices"].size(), 2u);
  EXPECT_EQ(json["devices"][0]["iterations"].size(), 60u * 4);
  // Begins are distances: their sum is the begin of the last one.
  const auto& units = json["devices"][0]["units"];
  ASSERT_GT(units.size(), 0u);
  for (size_t i = 0; i < units.size(); i += 6) EXPECT_GE(units[i].get<int64_t>(), 0);
}

TEST(PageDataTest, ThinsOutALongRunAndSaysSo) {
  TraceBuilder builder;
  const int rank = builder.AddRank("cpu0");
  const int iterations = static_cast<int>(kPageRowsMax) * 2;
  for (int i = 0; i < iterations; ++i) {
    builder.BeginIteration(rank, static_cast<uint64_t>(i), i * 20);
    for (int b = 0; b < 8; ++b) builder.Bubble(rank, b, i * 20 + b * 2 + 1, i * 20 + b * 2 + 2);
    builder.EndIteration(rank, i * 20 + 18);
  }
  const Trace trace = builder.Read();
  const std::string data = PageData(trace, *ComputeFigures(trace, {}));
  const auto json = nlohmann::json::parse(data);
  EXPECT_EQ(json["row_stride"].get<int>(), 2);
  EXPECT_FALSE(json["shown"]["is_all"].get<bool>());
  EXPECT_LT(data.size(), 30 * kPageShapesMax);
}

}  // namespace
}  // namespace pipefill
