#include "cli/report/report_text.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "cli/output.h"
#include "cli/report/control_course.h"
#include "cli/report/markup.h"
#include "cli/report/report_words.h"
#include "cli/report/timeline.h"
#include "common/quantity.h"

namespace pipefill {
namespace {

constexpr size_t kViolationsShown = 20;

// `text` in lines of at most kLineWidth characters, the first and the others behind their indents.
// A percent sign stays with its number.
std::string Wrapped(const std::string& first, const std::string& others, const std::string& text) {
  std::string out;
  std::string line = first;
  bool is_empty = true;
  const std::string glued = absl::StrReplaceAll(text, {{" %", "\x01%"}});
  for (absl::string_view word : absl::StrSplit(glued, ' ')) {
    if (!is_empty && line.size() + 1 + word.size() > kLineWidth) {
      absl::StrAppend(&out, line, "\n");
      line = others;
      is_empty = true;
    }
    absl::StrAppend(&line, is_empty ? "" : " ", word);
    is_empty = false;
  }
  absl::StrAppend(&out, line, "\n");
  return absl::StrReplaceAll(out, {{"\x01", " "}});
}

// "  filled       87.4 %  of bubble time ...".
std::string FigureLine(const std::string& name, const std::string& value, const std::string& text) {
  return Wrapped(absl::StrFormat("  %-10s %9s  ", name, value), std::string(23, ' '), text);
}

std::string ShareText(int64_t part, int64_t whole) {
  if (whole <= 0) return "";
  return PercentText(static_cast<double>(part) / static_cast<double>(whole));
}

std::string SlowdownLines(const Figures& figures) {
  if (!figures.slowdown.has_value()) {
    return FigureLine("slowdown", "-",
                      absl::StrCat("of the main job: ", VerdictText(JudgeCost(figures))));
  }
  return FigureLine(
      "slowdown", ChangeText(figures.slowdown->change),
      absl::StrCat("of the main job's iterations, filled against hold-out (",
                   IntervalText(*figures.slowdown), "): ", VerdictText(JudgeCost(figures))));
}

std::string IterationLines(const Figures& figures) {
  const auto text = [](std::optional<double> ns) {
    return ns.has_value() ? MillisecondsText(*ns) : std::string("-");
  };
  return absl::StrCat(
      FigureLine("iteration", text(figures.iteration_filled_p50_ns),
                 absl::StrCat("median of ", Plural(figures.counted_filled, "filled iteration"))),
      FigureLine(
          "", text(figures.iteration_unfilled_p50_ns),
          absl::StrCat("median of ", Plural(figures.counted_held_out, "hold-out iteration"))));
}

std::string FigureLines(const Figures& figures) {
  std::string out = absl::StrCat(
      FigureLine("idle", PercentText(figures.bubble_ratio), "of device time is bubbles"),
      FigureLine("filled", PercentText(figures.bubble_filled),
                 "of bubble time did fill work while a task was there"),
      FigureLine("", PercentText(figures.bubble_filled_all),
                 "of all bubble time from the first unit to the last"),
      FigureLine("overrun", PercentText(figures.overrun_ratio),
                 "of bubble time: CPU time of units after its end"),
      SlowdownLines(figures), IterationLines(figures),
      FigureLine("recovered", PercentText(figures.recovered_device_share),
                 "of device time: the same work as if alone on a device"));
  if (figures.start_up_change.has_value()) {
    absl::StrAppend(&out, FigureLine("start-up", ChangeText(*figures.start_up_change),
                                     "iteration time while a task started, not in the slowdown"));
  }
  return out;
}

std::string BubbleTable(const Figures& figures) {
  if (figures.bubbles.empty()) return "";
  Table table({{"DEVICE", Align::kLeft, /*can_shrink=*/true},
               {"BUBBLE"},
               {"COUNT", Align::kRight},
               {"P10", Align::kRight},
               {"P50", Align::kRight},
               {"P90", Align::kRight},
               {"OFFERED", Align::kRight},
               {"FILLED", Align::kRight},
               {"OVERRUN", Align::kRight}});
  const auto ns_text = [](double ns) { return DurationText(static_cast<int64_t>(ns)); };
  const LargeBubbles large = LargeBubblesOf(figures);
  for (const BubbleFigures* row : large.rows) {
    const BubbleFigures& bubble = *row;
    table.AddRow({absl::StrCat(bubble.node, "/", bubble.device), BubbleText(bubble.name),
                  FormatCount(bubble.count), ns_text(bubble.p10_ns), ns_text(bubble.p50_ns),
                  ns_text(bubble.p90_ns), ShareText(bubble.offered_ns, bubble.open_ns),
                  ShareText(bubble.filled_ns, bubble.open_ns),
                  ShareText(bubble.overrun_ns, bubble.open_ns)});
  }
  std::string out = absl::StrCat("\n", table.Text());
  if (large.left_out > 0) absl::StrAppend(&out, "  ", SmallBubblesText(large), "\n");
  return out;
}

std::string JobTable(const Figures& figures) {
  if (figures.jobs.empty()) return "";
  Table table({{"JOB", Align::kRight},
               {"NAME", Align::kLeft, /*can_shrink=*/true},
               {"DEVICE", Align::kLeft, /*can_shrink=*/true},
               {"UNITS", Align::kRight},
               {"CPU", Align::kRight},
               {"IN BUBBLES", Align::kRight},
               {"AS IF ALONE", Align::kRight},
               {"MEMORY", Align::kRight}});
  for (const JobFigures& job : figures.jobs) {
    table.AddRow({absl::StrCat(job.job_id), job.name, absl::StrJoin(job.devices, ","),
                  FormatCount(job.units), DurationText(job.unit_cpu_ns),
                  ShareText(job.in_bubble_cpu_ns, job.unit_cpu_ns),
                  job.has_alone ? DurationText(job.exclusive_equivalent_ns) : "",
                  FormatBytes(job.memory_peak_bytes)});
  }
  return absl::StrCat("\n", table.Text());
}

std::string CheckLines(const CheckResult& check) {
  Table table({{"RULE"},
               {"CHECKED", Align::kRight},
               {"VIOLATIONS", Align::kRight},
               {"NOT CHECKED", Align::kRight}});
  for (size_t i = 0; i < kRules; ++i) {
    const RuleResult& rule = check.rules[i];
    table.AddRow({RuleName(static_cast<Rule>(i)), FormatCount(rule.checked),
                  FormatCount(rule.violations), FormatCount(rule.unchecked)});
  }
  std::string out = absl::StrCat("\n", table.Text());
  for (size_t i = 0; i < kRules; ++i) {
    for (const std::string& reason : check.rules[i].unchecked_reasons) {
      absl::StrAppend(&out, Wrapped("  ", "    ",
                                    absl::StrCat(RuleName(static_cast<Rule>(i)),
                                                 " not fully checked: ", reason)));
    }
  }
  for (size_t i = 0; i < std::min(check.violations.size(), kViolationsShown); ++i) {
    absl::StrAppend(&out, Wrapped("  VIOLATION ", "    ", OneLine(check.violations[i].text)));
  }
  if (check.violation_count() > static_cast<int64_t>(kViolationsShown)) {
    absl::StrAppend(&out, "  ",
                    FormatCount(check.violation_count() - static_cast<int64_t>(kViolationsShown)),
                    " more violations are not shown\n");
  }
  return out;
}

std::string NoteLines(const Trace& trace, const Figures& figures) {
  std::vector<std::string> notes = figures.notes;
  notes.push_back(IterationsText(figures));
  if (trace.counts.malformed > 0) {
    notes.push_back(absl::StrCat(Plural(trace.counts.malformed, "record"), " made no sense"));
  }
  if (trace.counts.unknown > 0) {
    notes.push_back(absl::StrCat(Plural(trace.counts.unknown, "record"), " of unknown type"));
  }
  if (trace.counts.torn_bytes > 0) {
    notes.push_back(absl::StrCat(Plural(trace.counts.torn_bytes, "byte"), " of a torn tail"));
  }
  std::string out = "\n";
  for (const std::string& note : notes)
    absl::StrAppend(&out, Wrapped("  - ", "    ", OneLine(note)));
  return out;
}

}  // namespace

std::string ReportText(const Trace& trace, const Figures& figures, const CheckResult& check) {
  return absl::StrCat(RunText(figures), "\n\n", FigureLines(figures), BubbleTable(figures),
                      JobTable(figures), ControlText(ControlCourses(trace, RunToDraw(figures))),
                      CheckLines(check), NoteLines(trace, figures));
}

}  // namespace pipefill
