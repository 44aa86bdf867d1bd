#include "cli/report/control_course.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "cli/report/report_json.h"
#include "cli/report/report_text.h"
#include "cli/report/testing/trace_builder.h"

namespace pipefill {
namespace {

// Learns for a second, fills for three, backs off for one; both ranks are told.
TraceBuilder ControlledRun() {
  TraceBuilder builder;
  const int first = builder.AddRank("cpu0", 0);
  const int second = builder.AddRank("cpu1", 1);
  for (int rank : {first, second}) {
    builder.AddControl(rank, 0, 0.2).set_state(v1::FILL_STATE_LEARNING);
    builder.AddControl(rank, 1000, 0.2);
    v1::FillControl& estimated = builder.AddControl(rank, 2000, 0.3);
    estimated.set_hold_outs(9);
    estimated.set_slowdown(0.0125);
    estimated.set_slowdown_low(0.011);
    estimated.set_slowdown_high(0.014);
    v1::FillControl& stopped = builder.AddControl(rank, 4000, 0.02);
    stopped.set_state(v1::FILL_STATE_BACKED_OFF);
    stopped.set_text("slowdown 1.25 % <exceeds>");
    stopped.set_back_offs(1);
    builder.Iteration(rank, 1, 4900);
  }
  return builder;
}

std::vector<ControlCourse> CoursesOf(const Trace& trace) {
  return ControlCourses(trace, ComputeFigures(trace, {})->runs.front());
}

TEST(ControlCourseTest, SumsUpOneNode) {
  const std::vector<ControlCourse> courses = CoursesOf(ControlledRun().Read());
  ASSERT_EQ(courses.size(), 1u);
  EXPECT_EQ(courses[0].rank, 0);
  EXPECT_EQ(CourseText(courses[0]),
            "filling 60.0 % of the time, learning 20.0 %, backed off 20.0 %; backed off 1 time; "
            "lambda 0.02 .. 0.30, last 0.02");
}

TEST(ControlCourseTest, TextHasTheStepsAndTheReasons) {
  EXPECT_EQ(ControlText(CoursesOf(ControlledRun().Read())), R"TEXT(
control on n1: filling 60.0 % of the time, learning 20.0 %, backed off 20.0 %; backed off 1 time; lambda 0.02 .. 0.30, last 0.02
   AT  STATE       LAMBDA                SLOWDOWN  BUDGET  WHY
0.0 s  learning      0.20                       -     1 %  -
1.0 s  filling       0.20                       -     1 %  -
2.0 s  filling       0.30  +1.25 % (+1.10..+1.40)     1 %  -
4.0 s  backed off    0.02                       -     1 %  slowdown 1.25 % <e...
)TEXT");
}

TEST(ControlCourseTest, PageHasOnePictureWithoutAnybodysMarkup) {
  const std::string section = ControlSection(CoursesOf(ControlledRun().Read()));
  EXPECT_TRUE(absl::StrContains(section, "<svg class=\"course\""));
  EXPECT_TRUE(absl::StrContains(section, "class=\"off\""));
  EXPECT_TRUE(absl::StrContains(section, "slowdown 1.25 % &lt;exceeds&gt;"));
  EXPECT_EQ(ControlSection({}), "");
}

TEST(ControlCourseTest, WithoutRecordsThereIsNone) {
  EXPECT_TRUE(CoursesOf(SmallRun().Read()).empty());
  EXPECT_EQ(ControlText({}), "");
}

TEST(ControlCourseTest, ThinsOutButKeepsChangesOfStateAndTheEnd) {
  std::vector<ControlPoint> points(1000);
  for (size_t i = 0; i < points.size(); ++i) {
    points[i].now_ns = static_cast<int64_t>(i);
    points[i].state = i == 700 ? "backed_off" : "filling";
  }
  const std::vector<ControlPoint> thinned = Thinned(points, 10);
  EXPECT_LE(thinned.size(), 10u);
  EXPECT_GE(thinned.size(), 8u);
  EXPECT_EQ(thinned.front().now_ns, 0);
  EXPECT_EQ(thinned.back().now_ns, 999);
  bool has_back_off = false;
  for (const ControlPoint& point : thinned) has_back_off |= point.state == "backed_off";
  EXPECT_TRUE(has_back_off);
  EXPECT_EQ(Thinned(points, 2000).size(), 1000u);
}

TEST(ControlCourseTest, ReportHasItInAllForms) {
  const Trace trace = ControlledRun().Read();
  const Figures figures = *ComputeFigures(trace, {});
  const CheckResult check = CheckTrace(trace, {});
  EXPECT_TRUE(absl::StrContains(ReportText(trace, figures, check), "\ncontrol on n1: filling"));
  const std::string json = ReportJson(trace, figures, check);
  EXPECT_TRUE(absl::StrContains(json, "\"state\": \"backed_off\""));
}

}  // namespace
}  // namespace pipefill
