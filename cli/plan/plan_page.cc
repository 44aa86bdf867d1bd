#include "cli/plan/plan_page.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "cli/plan/plan_text.h"
#include "cli/report/markup.h"
#include "cli/report/page_parts.h"
#include "cli/report/timeline.h"
#include "cli/report/timeline_svg.h"
#include "cli/words.h"
#include "common/quantity.h"

namespace pipefill {
namespace {

constexpr size_t kDevicesDrawn = 64;
// Rows of the table; more are counted, not shown.
constexpr size_t kRowsMax = 2000;

ChunkKind KindOf(PlanWorkKind kind) {
  switch (kind) {
    case PlanWorkKind::kForward:
      return ChunkKind::kForward;
    case PlanWorkKind::kBackward:
      return ChunkKind::kBackward;
    case PlanWorkKind::kOptimizer:
      return ChunkKind::kOptimizer;
    case PlanWorkKind::kWeight:
    case PlanWorkKind::kOther:
      break;
  }
  return ChunkKind::kOther;
}

bool HasWeightWork(const IdlePlan& plan) {
  return std::any_of(plan.devices.begin(), plan.devices.end(), [](const PlanDevice& device) {
    return std::any_of(device.work.begin(), device.work.end(),
                       [](const PlanWork& work) { return work.kind == PlanWorkKind::kWeight; });
  });
}

// All that is no work is a bubble.
TimelineDevice DeviceOf(const PlanDevice& device, int64_t span_ns) {
  TimelineDevice drawn;
  drawn.name = device.name;
  drawn.stage = device.stage;
  drawn.iterations.push_back({.number = 0, .begin_ns = 0, .end_ns = span_ns});
  int64_t end_ns = 0;
  for (const PlanWork& work : device.work) {
    if (work.begin_ns > end_ns) drawn.bubbles.push_back({end_ns, work.begin_ns, 0, 0});
    drawn.work.push_back({work.begin_ns, work.end_ns, KindOf(work.kind)});
    end_ns = std::max(end_ns, work.end_ns);
  }
  if (end_ns < span_ns) drawn.bubbles.push_back({end_ns, span_ns, 0, 0});
  return drawn;
}

std::string BubbleRows(const IdlePlan& plan) {
  std::string rows;
  size_t count = 0;
  for (const PlanDevice& device : plan.devices) {
    for (const PlanBubble& bubble : device.bubbles) {
      if (++count > kRowsMax) continue;
      const double share = static_cast<double>(bubble.mean_ns) /
                           std::max<double>(1, static_cast<double>(device.iteration_ns));
      absl::StrAppend(
          &rows, "<tr>", TextCell(device.name),
          TextCell(absl::StrCat(Word(bubble.bubble_class), " ", bubble.ordinal)),
          TextCell(DurationText(bubble.offset_ns)), TextCell(DurationText(bubble.mean_ns)),
          TextCell(DurationText(bubble.p10_ns)), TextCell(DurationText(bubble.p90_ns)),
          TextCell(PercentText(share)),
          TextCell(bubble.memory_free_bytes.has_value() ? FormatBytes(*bubble.memory_free_bytes)
                                                        : "-"),
          "</tr>\n");
    }
  }
  if (count > kRowsMax) {
    absl::StrAppend(&rows, "<tr><td colspan=\"8\">", count - kRowsMax, " more</td></tr>\n");
  }
  return rows;
}

}  // namespace

std::string PlanSvg(const IdlePlan& plan) {
  int64_t span_ns = 1;
  for (const PlanDevice& device : plan.devices) {
    span_ns = std::max(span_ns, device.iteration_ns);
    for (const PlanWork& work : device.work) span_ns = std::max(span_ns, work.end_ns);
  }
  Timeline timeline;
  for (const PlanDevice& device : plan.devices)
    timeline.devices.push_back(DeviceOf(device, span_ns));
  SvgOptions options;
  options.title = absl::StrCat(plan.title, plan.is_measured ? "" : " (model)");
  options.devices_max = kDevicesDrawn;
  options.shows_stages = false;  // the names say them
  if (HasWeightWork(plan)) options.other_work = "weight gradient and other work";
  return TimelineSvg(timeline, options);
}

std::string PlanPage(const IdlePlan& plan, const std::string& fill_text) {
  std::string notes;
  for (const std::string& note : plan.notes) {
    absl::StrAppend(&notes, "<p class=\"note\">", EscapeMarkup(note), "</p>\n");
  }
  std::string fill;
  if (!fill_text.empty()) {
    fill = absl::StrCat("<section><h2>Fill job</h2><pre>", EscapeMarkup(fill_text),
                        "</pre></section>\n");
  }
  return PageMarkup({.title = absl::StrCat("pipefill plan: ", plan.title),
                     .heading = plan.title,
                     .about = absl::StrCat("pipefill plan: ", PlanHeadline(plan)),
                     .style = "svg{max-width:100%;height:auto}\n",
                     .sections = absl::StrCat("<section><h2>Timeline</h2>\n", notes, PlanSvg(plan),
                                              "</section>\n", fill, "<section><h2>Bubbles</h2>\n",
                                              TableHead({"Device", "Bubble", "Begins at", "Mean",
                                                         "10 %", "90 %", "Share", "Free memory"},
                                                        8),
                                              BubbleRows(plan), "</tbody></table></section>\n")});
}

}  // namespace pipefill
