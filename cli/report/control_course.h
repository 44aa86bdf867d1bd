// How filling one main job was controlled over a run: lambda, the agent's own estimate of the
// slowdown, and when it backed off.
//
// Agents decide for all ranks of a main job on their node together, so one course per node is
// shown: that of its first rank. The agent's estimate looks back over some hundred iterations; the
// report's own slowdown (figures.h) is over the whole run.
//
// Pure.
#ifndef CLI_REPORT_CONTROL_COURSE_H_
#define CLI_REPORT_CONTROL_COURSE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cli/report/figures.h"
#include "cli/report/trace.h"

namespace pipefill {

// More are thinned out; changes of the state stay.
inline constexpr size_t kControlPointsMax = 2'000;

struct ControlCourse {
  std::string node;
  std::string device;
  int32_t rank = 0;
  int64_t begin_ns = 0;  // the rank attached
  int64_t end_ns = 0;    // its last edge
  std::vector<ControlPoint> points;
  std::map<std::string, int64_t> state_ns;  // how long it was in each state
  int64_t back_offs = 0;
  double lambda_min = 0;
  double lambda_max = 0;
};

// Of the run that is drawn (timeline.h); empty if its agents recorded none.
std::vector<ControlCourse> ControlCourses(const Trace& trace, const IterationTable& run);

// At most `count` of `points`, changes of state first, then evenly spread; the last is among them.
std::vector<ControlPoint> Thinned(const std::vector<ControlPoint>& points, size_t count);

// "filling 93.1 % of the time, backed off 6.9 %; backed off 2 times; lambda 0.02 .. 0.5, last
// 0.35".
std::string CourseText(const ControlCourse& course);

// The report as text: a line and a few rows for each course; "" without any.
std::string ControlText(const std::vector<ControlCourse>& courses);
// The page: a picture and a table for each; "" without any.
std::string ControlSection(const std::vector<ControlCourse>& courses);

}  // namespace pipefill

#endif  // CLI_REPORT_CONTROL_COURSE_H_
