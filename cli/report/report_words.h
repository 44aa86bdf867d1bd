// The sentences that table and page share: what the figures mean, in plain words.
//
// Pure.
#ifndef CLI_REPORT_REPORT_WORDS_H_
#define CLI_REPORT_REPORT_WORDS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "cli/report/figures.h"
#include "cli/report/trace_checker.h"

namespace pipefill {

// What filling may cost the main job: the estimate, and the upper end of its 95 % interval.
inline constexpr double kSlowdownBudget = 0.01;
inline constexpr double kSlowdownBudgetUpper = 0.015;

enum class CostVerdict {
  kUnknown,    // no pairs, or too few for an interval
  kWithin,     // estimate and upper end are within the bounds
  kUndecided,  // neither within nor clearly over
  kOver,       // the whole interval lies above the budget
};
CostVerdict JudgeCost(const Figures& figures);
// "within the budget of 1 %", ...
std::string VerdictText(CostVerdict verdict);

// "main job gpt: 2 devices, 2 stages, 412 iterations".
std::string RunText(const Figures& figures);
// The paragraph at the head of the page: what was idle, what was filled, what it cost.
std::string SummaryText(const Figures& figures);
// "95 %: -0.31 .. +1.12 %, 45 pairs"; says so when there is no interval.
std::string IntervalText(const RatioEstimate& estimate);
// "180 filled and 176 hold-out iterations compared; left out: 20 first, 31 start-up, ...".
std::string IterationsText(const Figures& figures);
// The bubble ids that matter: those that hold at least 1 % of the bubble time of their rank.
struct LargeBubbles {
  std::vector<const BubbleFigures*> rows;  // into Figures::bubbles
  int64_t left_out = 0;
  double left_out_share = 0;  // of all bubble time
};
LargeBubbles LargeBubblesOf(const Figures& figures);
// "16 more bubble ids hold 3.1 % of bubble time"; "" if there are none.
std::string SmallBubblesText(const LargeBubbles& bubbles);
// What a rule asserts, for people: "units start inside their window".
const char* RuleText(Rule rule);
// "12,345 checks, no violation", and how much could not be checked.
std::string CheckText(const CheckResult& check);

}  // namespace pipefill

#endif  // CLI_REPORT_REPORT_WORDS_H_
