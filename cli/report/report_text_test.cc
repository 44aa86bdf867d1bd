#include "cli/report/report_text.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "cli/report/testing/trace_builder.h"

namespace pipefill {
namespace {

std::string TextOf(const Trace& trace, int skip_first) {
  FiguresOptions options;
  options.skip_first = skip_first;
  const absl::StatusOr<Figures> figures = ComputeFigures(trace, options);
  EXPECT_TRUE(figures.ok()) << figures.status();
  return ReportText(trace, *figures, CheckTrace(trace, {}));
}

TEST(ReportTextTest, SaysWhatWasIdleFilledAndPaid) {
  EXPECT_EQ(TextOf(SmallRun().Read(), 4), R"TEXT(main job gpt: 2 devices, 2 stages, 40 iterations

  idle          29.9 %  of device time is bubbles
  filled        66.7 %  of bubble time did fill work while a task was there
                16.7 %  of all bubble time from the first unit to the last
  overrun        0.0 %  of bubble time: CPU time of units after its end
  slowdown     +1.00 %  of the main job's iterations, filled against hold-out
                       (95 %: +1.00 .. +1.00 %, 17 pairs): within the budget of
                       1 %
  iteration   101.0 ms  median of 17 filled iterations
              100.0 ms  median of 18 hold-out iterations
  recovered      5.0 %  of device time: the same work as if alone on a device

DEVICE   BUBBLE  COUNT    P10    P50    P90  OFFERED  FILLED  OVERRUN
n1/cpu0  head 0     36  30 ms  30 ms  30 ms  100.0 %  66.7 %    0.0 %
n1/cpu1  head 0     36  30 ms  30 ms  30 ms        -       -        -

JOB  NAME  DEVICE  UNITS     CPU  IN BUBBLES  AS IF ALONE  MEMORY
  1  job1  cpu0       19  380 ms     100.0 %            -    70 B

RULE                 CHECKED  VIOLATIONS  NOT CHECKED
unit_in_window            19           0            0
unit_before_end           19           0            0
no_unit_in_hold_out       19           0            0
failure_units              0           0            0
overrun_promise            0           0           19
units_in_order            18           0            0
one_turn                  19           0            0
memory_below_cap           1           0            0
attempt_ends_once          1           0            0
one_live_attempt           1           0            0
job_ends_once              0           0            0
  overrun_promise not fully checked: units of bubble ids with fewer than 50
    units or 30 bubbles: 19
  job_ends_once not fully checked: the scheduler's job list was not given

  - no run alone given for job1: their exclusive equivalent is the CPU time they
    took here
  - 17 filled and 18 hold-out iterations compared; left out: 4 first, 1 without
    a task
)TEXT");
}

TEST(ReportTextTest, FitsATerminal) {
  const std::string text = TextOf(SmallRun().Read(), 4);
  const std::vector<std::string> lines = absl::StrSplit(text, '\n');
  for (const std::string& line : lines) EXPECT_LE(line.size(), 80u) << line;
}

TEST(ReportTextTest, ShowsViolationsAndWhatCouldNotBeChecked) {
  TraceBuilder builder = SmallRun();
  builder.AddSample(1, 3000, 101);
  builder.DropEdges(1, 5);
  const std::string text = TextOf(builder.Read(), 4);
  EXPECT_TRUE(absl::StrContains(text, "VIOLATION memory_below_cap: job 1 attempt 1 on cpu0 at"));
  EXPECT_TRUE(absl::StrContains(text, "job_ends_once not fully checked: the scheduler's job list"));
  EXPECT_TRUE(absl::StrContains(text, "cpu0: 5 edges were dropped"));
}

TEST(ReportTextTest, SaysWhatIsMissingOfAnUnfilledRun) {
  TraceBuilder builder;
  builder.Iteration(builder.AddRank("cpu0"), 0, 0);
  const std::string text = TextOf(builder.Read(), 0);
  EXPECT_TRUE(absl::StrContains(text, "  idle          30.0 %  of device time is bubbles\n"));
  EXPECT_TRUE(absl::StrContains(text, "  of the main job: not known: too few pairs"));
}

}  // namespace
}  // namespace pipefill
