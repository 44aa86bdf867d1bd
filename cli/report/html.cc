#include "cli/report/html.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "cli/report/assets.h"
#include "cli/report/control_course.h"
#include "cli/report/markup.h"
#include "cli/report/page_data.h"
#include "cli/report/page_parts.h"
#include "cli/report/page_sections.h"
#include "cli/report/palette.h"
#include "cli/report/report_words.h"
#include "cli/report/timeline.h"
#include "cli/report/timeline_svg.h"

namespace pipefill {
namespace {

// Where and when: "n1, 2026-03-01 12:00 UTC".
std::string OriginText(const Trace& trace, const Figures& figures) {
  std::set<std::string> nodes;
  int64_t first_ns = 0;
  for (size_t r : RunToDraw(figures).ranks) {
    const RankTrace& rank = trace.ranks[r];
    const AgentStart& start = trace.starts[rank.start];
    nodes.insert(start.node);
    const int64_t attached_ns = UnixNs(start, rank.attached_ns);
    if (first_ns == 0 || attached_ns < first_ns) first_ns = attached_ns;
  }
  std::string text = absl::StrCat("recorded on ", absl::StrJoin(nodes, ", "));
  if (first_ns <= 0) return text;
  return absl::StrCat(
      text, ", ",
      absl::FormatTime("%Y-%m-%d %H:%M UTC", absl::FromUnixNanos(first_ns), absl::UTCTimeZone()));
}

std::string JobLegend(const Figures& figures) {
  std::string out;
  for (size_t i = 0; i < figures.jobs.size() && i < kJobColours; ++i) {
    absl::StrAppend(&out, "<span><i class=\"swatch\" style=\"background:var(--", JobColour(i),
                    ")\"></i>", EscapeMarkup(figures.jobs[i].name), "</span>");
  }
  return out;
}

constexpr char kTimelineSection[] = R"HTML(<section id="timeline-section">
<h2>Timeline</h2>
<p class="note" id="shown-note"></p>
<div class="legend">
<span><i class="swatch" style="background:var(--forward)"></i>forward</span>
<span><i class="swatch" style="background:var(--backward)"></i>backward</span>
<span><i class="swatch" style="background:var(--optimizer)"></i>optimizer</span>
<span><i class="swatch" style="background:var(--other)"></i>other main work</span>
<span><i class="swatch idle"></i>bubble</span>
<span><i class="swatch" style="background:var(--holdout)"></i>hold-out</span>
<span><i class="swatch" style="background:var(--overrun)"></i>overrun</span>
<span class="of">fill jobs:</span>)HTML";

constexpr char kTimelineRest[] = R"HTML(</div>
<canvas id="timeline" tabindex="0" aria-label="timeline: arrow keys move, plus and minus zoom"></canvas>
<div id="tip" hidden></div>
<div class="keys"><span><kbd>drag</kbd> move</span><span><kbd>wheel</kbd> zoom (after a click, or with
Ctrl)</span><span><kbd>&larr;</kbd> <kbd>&rarr;</kbd> move</span><span><kbd>+</kbd> <kbd>&minus;</kbd>
zoom</span><span><kbd>h</kbd> next hold-out</span><span><kbd>0</kbd> back</span></div>
<h3>Whole run: share of bubble time filled, by iteration</h3>
<canvas id="overview" aria-label="overview of the run; drag to choose what the timeline shows"></canvas>
</section>
<section><h2>Iteration time</h2>
<p class="note">Each dot is one iteration of the main job; lines are running medians over 15 compared
iterations of a kind. Pale dots are not compared; dots beyond the scale lie at its edge.</p>
<div class="legend"><span><i class="dot filled"></i>filled</span><span><i class="dot held"></i>hold-out:
nothing filled</span></div>
<canvas id="iterations" aria-label="iteration time over the run"></canvas></section>
)HTML";

}  // namespace

std::string ReportPage(const Trace& trace, const Figures& figures, const CheckResult& check) {
  const Timeline piece = MakeTimeline(trace, figures, RepresentativeRows(RunToDraw(figures), 3, 2));
  const std::string picture = TimelineSvg(piece, {.title = RunText(figures)});
  return PageMarkup(
      {.title = absl::StrCat("pipefill report: ", figures.main_job),
       .heading = RunText(figures),
       .about = absl::StrCat("pipefill report, ", OriginText(trace, figures)),
       .sections = absl::StrCat(
           HeadlineSection(figures, check), kTimelineSection, JobLegend(figures), kTimelineRest,
           "<noscript><section>", picture, "</section></noscript>\n",
           ControlSection(ControlCourses(trace, RunToDraw(figures))), BubbleSection(figures),
           JobSection(figures), CheckSection(check), DefinitionSection(figures)),
       .scripts = absl::StrCat("<script id=\"data\" type=\"application/json\">",
                               EscapeScript(PageData(trace, figures)), "</script>\n<script>\n",
                               kPageScript, "</script>\n")});
}

}  // namespace pipefill
