#include "cli/report/page_sections.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/output.h"
#include "cli/report/markup.h"
#include "cli/report/page_parts.h"
#include "cli/report/palette.h"
#include "cli/report/report_words.h"
#include "common/quantity.h"

namespace pipefill {
namespace {

// Rows of a table; more are counted, not shown.
constexpr size_t kRowsMax = 400;
constexpr size_t kViolationsShown = 50;

// The estimate and its interval on a scale of percent, with zero and the budget marked.
std::string IntervalMarkup(const RatioEstimate& estimate) {
  const ChangeInterval interval =
      estimate.interval.value_or(ChangeInterval{.lo = estimate.change, .hi = estimate.change});
  const double lo = std::min(std::floor(interval.lo * 100 - 0.2), -1.0);
  const double hi = std::max(std::ceil(interval.hi * 100 + 0.2), 2.0);
  const auto x = [lo, hi](double percent) { return 8 + (percent - lo) / (hi - lo) * 224; };
  std::string out = "<svg class=\"scale\" viewBox=\"0 0 240 40\" aria-hidden=\"true\">";
  absl::StrAppendFormat(&out, "<line class=\"axis\" x1=\"8\" y1=\"14\" x2=\"232\" y2=\"14\"/>");
  const std::pair<double, const char*> marks[] = {{1, "budget 1 %"}, {hi, ""}, {0, "0"}, {lo, ""}};
  std::vector<double> taken;  // where a label stands
  for (const auto& [percent, word] : marks) {
    absl::StrAppendFormat(&out, "<line class=\"%s\" x1=\"%.1f\" y1=\"4\" x2=\"%.1f\" y2=\"24\"/>",
                          percent == 1 ? "budget" : "axis", x(percent), x(percent));
    const double at = std::clamp(x(percent), percent == 1 ? 34.0 : 12.0, 226.0);
    const bool is_free = std::all_of(taken.begin(), taken.end(),
                                     [at](double other) { return std::abs(at - other) > 42; });
    if (!is_free) continue;
    taken.push_back(at);
    const std::string text = *word == '\0' ? absl::StrFormat("%+.0f", percent) : std::string(word);
    absl::StrAppendFormat(&out, "<text x=\"%.1f\" y=\"37\" text-anchor=\"middle\">%s</text>", at,
                          text);
  }
  absl::StrAppendFormat(&out,
                        "<line class=\"range\" x1=\"%.1f\" y1=\"14\" x2=\"%.1f\" y2=\"14\"/>"
                        "<circle cx=\"%.1f\" cy=\"14\" r=\"5\"/></svg>",
                        x(interval.lo * 100), x(interval.hi * 100), x(estimate.change * 100));
  return out;
}

Tile CostTile(const Figures& figures) {
  Tile tile{.name = "Cost", .value = "-", .text = VerdictText(JudgeCost(figures)), .extra = ""};
  if (!figures.slowdown.has_value()) return tile;
  tile.value = ChangeText(figures.slowdown->change);
  tile.extra = IntervalMarkup(*figures.slowdown);
  tile.text = absl::StrCat("iteration time, filled against hold-out (",
                           IntervalText(*figures.slowdown), "): ", tile.text);
  return tile;
}

std::string ShareText(int64_t part, int64_t whole) {
  if (whole <= 0) return "-";
  return PercentText(static_cast<double>(part) / static_cast<double>(whole));
}

// p10..p90 as a bar and p50 as a mark, on the scale of the longest bubble.
std::string LengthMarkup(const BubbleFigures& bubble, double longest_ns) {
  const auto x = [longest_ns](double ns) { return longest_ns > 0 ? ns / longest_ns * 116 + 2 : 2; };
  return absl::StrFormat(
      "<svg class=\"length\" viewBox=\"0 0 120 14\" aria-hidden=\"true\">"
      "<line class=\"range\" x1=\"%.1f\" y1=\"7\" x2=\"%.1f\" y2=\"7\"/>"
      "<line class=\"mid\" x1=\"%.1f\" y1=\"1\" x2=\"%.1f\" y2=\"13\"/></svg>",
      x(bubble.p10_ns), x(bubble.p90_ns), x(bubble.p50_ns), x(bubble.p50_ns));
}

std::string MoreMarkup(size_t rows) {
  if (rows <= kRowsMax) return "";
  return absl::StrCat("<p class=\"note\">", rows - kRowsMax, " more are not shown.</p>");
}

}  // namespace

std::string HeadlineSection(const Figures& figures, const CheckResult& check) {
  std::vector<Tile> tiles;
  tiles.push_back({.name = "Idle",
                   .value = PercentText(figures.bubble_ratio),
                   .text = "of device time is bubbles: the device waits for the pipeline",
                   .extra = BarMarkup(figures.bubble_ratio)});
  tiles.push_back({.name = "Filled",
                   .value = PercentText(figures.bubble_filled),
                   .text = "of bubble time did fill work, where a fill job was there to take it",
                   .extra = BarMarkup(figures.bubble_filled)});
  tiles.push_back(CostTile(figures));
  tiles.push_back({.name = "Overrun",
                   .value = PercentText(figures.overrun_ratio),
                   .text = "of bubble time: CPU time of units after the end of their bubble",
                   .extra = BarMarkup(figures.overrun_ratio)});
  tiles.push_back({.name = "Recovered",
                   .value = PercentText(figures.recovered_device_share),
                   .text = "of device time, as if the same work had had a device for itself",
                   .extra = BarMarkup(figures.recovered_device_share)});
  const bool is_clean = check.violation_count() == 0;
  return absl::StrCat(
      "<section class=\"headline\">\n", TilesMarkup(tiles), "<p class=\"summary\">",
      EscapeMarkup(SummaryText(figures)), " <span class=\"", is_clean ? "good" : "bad", "\">",
      is_clean ? "Rules checked: " : "Rules broken: ", EscapeMarkup(CheckText(check)),
      ".</span></p>\n</section>\n");
}

std::string BubbleSection(const Figures& figures) {
  double longest_ns = 0;
  for (const BubbleFigures& bubble : figures.bubbles)
    longest_ns = std::max(longest_ns, bubble.p90_ns);
  const LargeBubbles large = LargeBubblesOf(figures);
  std::string out = absl::StrCat(
      "<section><h2>Bubbles</h2><p class=\"note\">One row per wait of a stage, in the order of the "
      "iteration. Open: time of those bubbles in filled iterations while a fill job was on the "
      "device; offered (units could start), filled and overrun are shares of it.</p>\n",
      TableHead({"device", "bubble", "length, p10 to p90", "p10", "p50", "p90", "count", "open",
                 "used", "offered", "filled", "overrun"},
                3));
  for (size_t i = 0; i < std::min(large.rows.size(), kRowsMax); ++i) {
    const BubbleFigures& bubble = *large.rows[i];
    absl::StrAppend(
        &out, "<tr>", TextCell(absl::StrCat(bubble.node, "/", bubble.device)),
        TextCell(BubbleText(bubble.name)), MarkupCell(LengthMarkup(bubble, longest_ns)),
        NumberCell(MillisecondsText(bubble.p10_ns)), NumberCell(MillisecondsText(bubble.p50_ns)),
        NumberCell(MillisecondsText(bubble.p90_ns)), NumberCell(FormatCount(bubble.count)));
    absl::StrAppend(&out, NumberCell(DurationText(bubble.open_ns)),
                    NumberCell(ShareText(bubble.used_count, bubble.open_count)),
                    NumberCell(ShareText(bubble.offered_ns, bubble.open_ns)),
                    NumberCell(ShareText(bubble.filled_ns, bubble.open_ns)),
                    NumberCell(ShareText(bubble.overrun_ns, bubble.open_ns)), "</tr>\n");
  }
  return absl::StrCat(out, "</tbody></table><p class=\"note\">",
                      EscapeMarkup(SmallBubblesText(large)), "</p>", MoreMarkup(large.rows.size()),
                      "</section>\n");
}

std::string JobSection(const Figures& figures) {
  std::string out = absl::StrCat("<section><h2>Fill jobs</h2>\n",
                                 TableHead({"job", "name", "device", "units", "CPU time of units",
                                            "in bubbles", "as if alone", "memory, peak of cap"},
                                           3));
  for (size_t i = 0; i < std::min(figures.jobs.size(), kRowsMax); ++i) {
    const JobFigures& job = figures.jobs[i];
    const std::string alone =
        job.has_alone ? DurationText(job.exclusive_equivalent_ns) : "not measured";
    absl::StrAppend(&out, "<tr><td><i class=\"swatch\" style=\"background:var(--", JobColour(i),
                    ")\"></i>", job.job_id, "</td>", TextCell(job.name),
                    TextCell(absl::StrJoin(job.devices, ", ")), NumberCell(FormatCount(job.units)),
                    NumberCell(DurationText(job.unit_cpu_ns)));
    absl::StrAppend(&out, NumberCell(ShareText(job.in_bubble_cpu_ns, job.unit_cpu_ns)),
                    NumberCell(alone),
                    NumberCell(absl::StrCat(FormatBytes(job.memory_peak_bytes), " of ",
                                            FormatBytes(job.memory_cap_bytes))),
                    "</tr>\n");
  }
  if (figures.jobs.empty()) absl::StrAppend(&out, "<tr><td colspan=\"8\">none</td></tr>\n");
  return absl::StrCat(out, "</tbody></table>", MoreMarkup(figures.jobs.size()), "</section>\n");
}

std::string CheckSection(const CheckResult& check) {
  std::string out = absl::StrCat(
      "<section><h2>Rules</h2><p class=\"note\">Checked against every recorded edge and "
      "unit.</p>\n",
      TableHead({"rule", "", "checked", "violations", "not checked"}, 2));
  for (size_t i = 0; i < kRules; ++i) {
    const RuleResult& rule = check.rules[i];
    const char* mark = rule.violations > 0 ? "bad\">&#10007; broken"
                       : rule.checked > 0  ? "good\">&#10003; holds"
                                           : "muted\">not checked";
    absl::StrAppend(&out, "<tr>", TextCell(RuleText(static_cast<Rule>(i))), "<td><span class=\"",
                    mark, "</span></td>", NumberCell(FormatCount(rule.checked)),
                    NumberCell(FormatCount(rule.violations)),
                    NumberCell(FormatCount(rule.unchecked)), "</tr>\n");
    for (const std::string& reason : rule.unchecked_reasons) {
      absl::StrAppend(&out, "<tr class=\"reason\"><td colspan=\"5\">not fully checked: ",
                      EscapeMarkup(reason), "</td></tr>\n");
    }
  }
  absl::StrAppend(&out, "</tbody></table>\n");
  if (check.violations.empty()) return absl::StrCat(out, "</section>\n");
  absl::StrAppend(&out, "<ul class=\"bad\">");
  for (size_t i = 0; i < std::min(check.violations.size(), kViolationsShown); ++i) {
    absl::StrAppend(&out, "<li>", EscapeMarkup(check.violations[i].text), "</li>");
  }
  return absl::StrCat(out, "</ul></section>\n");
}

std::string DefinitionSection(const Figures& figures) {
  std::string out = "<section><h2>What the figures mean</h2>\n<ul>";
  for (const std::string& note : figures.notes) {
    absl::StrAppend(&out, "<li><b>", EscapeMarkup(note), "</b></li>");
  }
  absl::StrAppend(&out, "<li>", EscapeMarkup(IterationsText(figures)), ".</li>");
  const char* const definitions[] = {
      "Idle: bubble time / iteration time, over all devices, without the first iterations.",
      "Filled: CPU time of units inside the bubble in which they started / bubble time, over "
      "filled "
      "iterations in which the device had a task that waited or ran. CPU time, never wall time: a "
      "unit that the main job preempts must not count the main job's work.",
      "Overrun: CPU time of units after the end of their bubble / the same bubble time.",
      "Cost: iterations come in small groups of which one block, drawn by a hash, is held out and "
      "not "
      "filled. Each group gives one pair, filled against hold-out; the cost is the median of their "
      "ratios, its interval a bootstrap over pairs. Slow drift of the machine cancels inside a "
      "pair.",
      "Recovered: units, each at the CPU time that it takes when its job runs alone, / device time "
      "from "
      "the first to the last unit, hold-outs and start-up included."};
  for (const char* definition : definitions) absl::StrAppend(&out, "<li>", definition, "</li>");
  if (figures.slowdown_mean.has_value()) {
    absl::StrAppend(&out, "<li>With means instead of medians the cost is ",
                    ChangeText(figures.slowdown_mean->change), " (",
                    IntervalText(*figures.slowdown_mean),
                    "): a few very slow iterations weigh more there, ours and the machine's.</li>");
  }
  if (figures.start_up_change.has_value()) {
    absl::StrAppend(&out, "<li>Filled iterations while a task was starting up, not in the cost: ",
                    ChangeText(*figures.start_up_change), " against hold-outs.</li>");
  }
  return absl::StrCat(out, "</ul></section>\n");
}

}  // namespace pipefill
