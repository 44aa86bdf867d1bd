#include "cli/report/report_words.h"

#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/output.h"
#include "cli/report/markup.h"

namespace pipefill {
namespace {

int64_t Iterations(const Figures& figures) {
  int64_t count = 0;
  for (const auto& [use, rows] : figures.iterations) count += rows;
  return count;
}

}  // namespace

CostVerdict JudgeCost(const Figures& figures) {
  if (!figures.slowdown.has_value() || !figures.slowdown->interval.has_value()) {
    return CostVerdict::kUnknown;
  }
  const RatioEstimate& slowdown = *figures.slowdown;
  constexpr double kRounding = 1e-9;
  if (slowdown.change <= kSlowdownBudget + kRounding &&
      slowdown.interval->hi <= kSlowdownBudgetUpper + kRounding) {
    return CostVerdict::kWithin;
  }
  const bool is_over = slowdown.interval->lo > kSlowdownBudget + kRounding;
  return is_over ? CostVerdict::kOver : CostVerdict::kUndecided;
}

std::string VerdictText(CostVerdict verdict) {
  switch (verdict) {
    case CostVerdict::kUnknown:
      return "not known: too few pairs of filled and hold-out iterations";
    case CostVerdict::kWithin:
      return "within the budget of 1 %";
    case CostVerdict::kUndecided:
      return "not decided: the interval reaches over the budget of 1 %";
    case CostVerdict::kOver:
      return "over the budget of 1 %";
  }
  return "";
}

std::string RunText(const Figures& figures) {
  std::string text =
      absl::StrCat("main job ", figures.main_job, ": ",
                   Plural(static_cast<int64_t>(figures.devices.size()), "device"), ", ",
                   Plural(figures.stages, "stage"), ", ", Plural(Iterations(figures), "iteration"));
  if (figures.runs.size() > 1) absl::StrAppend(&text, " in ", figures.runs.size(), " runs");
  return text;
}

std::string SummaryText(const Figures& figures) {
  if (!figures.bubble_ratio.has_value()) return "No iteration was recorded whole yet.";
  std::string text =
      absl::StrCat("Of the device time of main job ", figures.main_job, ", ",
                   PercentText(figures.bubble_ratio), " was bubbles: the device waited. ");
  if (figures.bubble_filled.has_value()) {
    absl::StrAppend(&text, "Where a fill job was there to take them, ",
                    PercentText(figures.bubble_filled), " of bubble time did its work; ",
                    PercentText(figures.overrun_ratio),
                    " of bubble time was overrun, work that went on after its bubble. ");
  } else {
    absl::StrAppend(&text, "Nothing was filled. ");
  }
  if (!figures.slowdown.has_value()) return text;
  const RatioEstimate& slowdown = *figures.slowdown;
  absl::StrAppendFormat(&text, "Filled iterations took %.2f %% %s than their unfilled neighbours",
                        std::abs(slowdown.change) * 100, slowdown.change < 0 ? "less" : "longer");
  if (!slowdown.interval.has_value())
    return absl::StrCat(text, "; there are too few pairs to be sure.");
  absl::StrAppendFormat(&text, " (95 %% interval %+.2f to %+.2f %%, %s)",
                        slowdown.interval->lo * 100, slowdown.interval->hi * 100,
                        Plural(static_cast<int64_t>(slowdown.pairs), "pair"));
  const bool is_noise = slowdown.interval->lo <= 0 && slowdown.interval->hi >= 0;
  return absl::StrCat(text, is_noise ? ": not to be told apart from no difference." : ".");
}

std::string IntervalText(const RatioEstimate& estimate) {
  const std::string pairs = Plural(static_cast<int64_t>(estimate.pairs), "pair");
  if (!estimate.interval.has_value()) return absl::StrCat("no interval from ", pairs);
  return absl::StrFormat("95 %%: %+.2f .. %+.2f %%, %s", estimate.interval->lo * 100,
                         estimate.interval->hi * 100, pairs);
}

std::string IterationsText(const Figures& figures) {
  const std::vector<std::pair<IterationUse, const char*>> reasons = {
      {IterationUse::kFirst, "first"},
      {IterationUse::kBeforeFill, "before the first unit"},
      {IterationUse::kAfterFill, "after the last unit"},
      {IterationUse::kStartUp, "while a task started"},
      {IterationUse::kNoTask, "without a task"},
      {IterationUse::kStoodStill, "in which it stood still"},
      {IterationUse::kNotWhole, "not recorded whole"}};
  std::vector<std::string> left_out;
  for (const auto& [use, text] : reasons) {
    const auto found = figures.iterations.find(use);
    if (found != figures.iterations.end()) {
      left_out.push_back(absl::StrCat(found->second, " ", text));
    }
  }
  std::string text = absl::StrCat(figures.counted_filled, " filled and ", figures.counted_held_out,
                                  " hold-out iterations compared");
  if (!left_out.empty()) absl::StrAppend(&text, "; left out: ", absl::StrJoin(left_out, ", "));
  return text;
}

LargeBubbles LargeBubblesOf(const Figures& figures) {
  std::map<std::pair<int32_t, std::string>, double> sums;  // by rank and device
  double all_ns = 0;
  const auto is_failure = [](const BubbleFigures& bubble) {
    return bubble.name.bubble_class == BubbleClass::kFailure;
  };
  for (const BubbleFigures& bubble : figures.bubbles) {
    if (is_failure(bubble)) continue;  // of another kind: no part of any iteration
    const auto bubble_ns = static_cast<double>(bubble.bubble_ns);
    sums[{bubble.rank, bubble.device}] += bubble_ns;
    all_ns += bubble_ns;
  }
  LargeBubbles large;
  double left_out_ns = 0;
  for (const BubbleFigures& bubble : figures.bubbles) {
    const auto bubble_ns = static_cast<double>(bubble.bubble_ns);
    if (is_failure(bubble) || bubble_ns >= 0.01 * sums[{bubble.rank, bubble.device}]) {
      large.rows.push_back(&bubble);
    } else {
      ++large.left_out;
      left_out_ns += bubble_ns;
    }
  }
  if (all_ns > 0) large.left_out_share = left_out_ns / all_ns;
  return large;
}

std::string SmallBubblesText(const LargeBubbles& bubbles) {
  if (bubbles.left_out == 0) return "";
  return absl::StrCat(Plural(bubbles.left_out, "more bubble id"),
                      bubbles.left_out == 1 ? " holds " : " hold ",
                      PercentText(bubbles.left_out_share), " of bubble time");
}

const char* RuleText(Rule rule) {
  switch (rule) {
    case Rule::kUnitInWindow:
      return "units start inside the window of their bubble";
    case Rule::kUnitBeforeEnd:
      return "no unit starts after its gate could see the bubble's end";
    case Rule::kNoUnitInHoldOut:
      return "no unit starts in a hold-out iteration";
    case Rule::kFailureUnits:
      return "units outside bubbles start only while the main job stands still";
    case Rule::kOverrunPromise:
      return "units overrun no more than was promised";
    case Rule::kOneTurn:
      return "one unit at a time on a device";
    case Rule::kUnitsInOrder:
      return "units of a task never overlap";
    case Rule::kMemoryBelowCap:
      return "tasks stay below their memory cap";
    case Rule::kAttemptEndsOnce:
      return "attempts end once";
    case Rule::kOneLiveAttempt:
      return "one live attempt per job, fences grow";
    case Rule::kJobEndsOnce:
      return "accepted jobs end once";
  }
  return "";
}

std::string CheckText(const CheckResult& check) {
  int64_t checked = 0;
  int64_t unchecked = 0;
  for (const RuleResult& rule : check.rules) {
    checked += rule.checked;
    unchecked += rule.unchecked;
  }
  std::string text =
      absl::StrCat(FormatCount(checked), " checks, ", Plural(check.violation_count(), "violation"));
  if (unchecked > 0) absl::StrAppend(&text, "; ", FormatCount(unchecked), " could not be checked");
  return text;
}

}  // namespace pipefill
