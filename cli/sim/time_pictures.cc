#include <algorithm>
#include <string>
#include <utility>

#include "absl/container/btree_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/output.h"
#include "cli/report/chart_svg.h"
#include "cli/report/timeline.h"
#include "cli/report/timeline_svg.h"
#include "cli/sim/sim_picture.h"
#include "cli/words.h"
#include "common/status.h"
#include "simulator/cluster/filled_cycle.h"

namespace pipefill {
namespace {

using simulator::FilledBubble;
using simulator::FilledCycle;
using simulator::FilledStage;
using simulator::OperationKind;

constexpr double kHourS = 3600;
constexpr size_t kStagesDrawn = 32;

ChunkKind KindOf(OperationKind kind) {
  switch (kind) {
    case OperationKind::kForward:
      return ChunkKind::kForward;
    case OperationKind::kBackward:
    case OperationKind::kBackwardInput:
      return ChunkKind::kBackward;
    case OperationKind::kOptimizer:
      return ChunkKind::kOptimizer;
    case OperationKind::kBackwardWeight:
    case OperationKind::kReduction:
      break;
  }
  return ChunkKind::kOther;
}

// Units of one bubble as one shape.
TimelineUnit UnitOf(const FilledBubble& bubble) {
  const int64_t end_ns = bubble.begin_ns + bubble.run.end_ns;
  const int64_t inside_end_ns = std::min(end_ns, bubble.end_ns);
  return {.begin_ns = bubble.begin_ns + bubble.run.begin_ns,
          .inside_end_ns = inside_end_ns,
          .end_ns = end_ns,
          .cpu_ns = bubble.run.end_ns - bubble.run.begin_ns,
          .overrun_ns = end_ns - inside_end_ns,
          .job = 0};
}

TimelineDevice DeviceOf(const FilledStage& stage, size_t number, const FilledCycle& cycle,
                        Timeline& timeline) {
  TimelineDevice device;
  device.name = absl::StrCat("stage ", number);
  device.stage = static_cast<int32_t>(number);
  device.iterations.push_back({.number = 1, .begin_ns = 0, .end_ns = cycle.iteration_ns});
  for (const simulator::TimedOperation& timed : stage.operations) {
    device.work.push_back({timed.begin_ns, timed.end_ns, KindOf(timed.operation.kind)});
  }
  for (const FilledBubble& bubble : stage.bubbles) {
    timeline.bubble_names.push_back(absl::StrCat(
        Word(bubble.bubble_class), " ", bubble.ordinal, bubble.is_offered ? "" : ", left alone",
        bubble.run.units > 0 ? absl::StrCat(", ", Plural(bubble.run.units, "unit")) : ""));
    const int64_t filled_ns = bubble.run.end_ns - bubble.run.begin_ns;
    device.bubbles.push_back(
        {bubble.begin_ns, bubble.end_ns, timeline.bubble_names.size() - 1, filled_ns});
    if (bubble.run.units > 0) device.units.push_back(UnitOf(bubble));
  }
  return device;
}

// The class that most jobs are of.
const simulator::JobClass& CommonClass(const SimOutcome& outcome) {
  return *std::max_element(outcome.classes.begin(), outcome.classes.end(),
                           [](const simulator::JobClass& a, const simulator::JobClass& b) {
                             return a.weight < b.weight;
                           });
}

// The `number`th one.
absl::StatusOr<SimPicture> CyclePicture(const std::string& name, const SimOutcome& outcome,
                                        size_t number) {
  const simulator::JobClass& job_class = CommonClass(outcome);
  ASSIGN_OR_RETURN(const FilledCycle cycle, simulator::FillOneCycle(outcome.training, job_class));
  Timeline timeline;
  timeline.jobs.push_back({.id = 0, .name = job_class.name});
  for (size_t s = 0; s < cycle.stages.size(); ++s) {
    timeline.devices.push_back(DeviceOf(cycle.stages[s], s, cycle, timeline));
  }
  const std::string title = absl::StrCat("One iteration, filled", name.empty() ? "" : ": ", name);
  return SimPicture{
      .name = "iteration",
      .title = title,
      .svg = TimelineSvg(timeline, {.title = title,
                                    .devices_max = kStagesDrawn,
                                    .other_work = "weight gradient",
                                    .shows_stages = false,
                                    .row_height = 22,
                                    .row_gap = 5,
                                    .shows_lengths = true,
                                    .hatch_id = absl::StrCat("idle-", number)}),
      .note = absl::StrCat("Each row is a stage; every device of it has the same bubbles. The ",
                           "coloured part of a bubble is the window that units of ", job_class.name,
                           " fill."),
      .is_wide = true};
}

// When the last of the attempts drawn ends; the rest of the run is empty.
double LastHour(const SimOutcome& outcome) {
  double last_s = 0;
  for (const simulator::Lane& lane : outcome.result.lanes) {
    for (const simulator::LaneSpan& span : lane.spans) last_s = std::max(last_s, span.end_s);
  }
  return (last_s > 0 ? last_s : absl::ToDoubleSeconds(outcome.horizon)) / kHourS;
}

SimPicture LanePicture(const std::string& name, const SimOutcome& outcome) {
  LaneChart chart{.title = "Which job filled which device",
                  .x_title = "hours",
                  .x_end = LastHour(outcome),
                  .colours = {},
                  .rows = {}};
  if (!name.empty()) absl::StrAppend(&chart.title, ": ", name);
  absl::btree_map<std::string, size_t> colours;
  for (const simulator::JobClass& job_class : outcome.classes) {
    colours.emplace(job_class.name, chart.colours.size());
    chart.colours.push_back(job_class.name);
  }
  size_t spans = 0;
  for (const simulator::Lane& lane : outcome.result.lanes) {
    LaneRow row{.name = absl::StrCat("stage ", lane.stage), .shapes = {}};
    for (const simulator::LaneSpan& span : lane.spans) {
      ++spans;
      row.shapes.push_back(
          {span.begin_s / kHourS, span.end_s / kHourS, colours[span.job_class],
           absl::StrFormat("job %d, %s: %.2f to %.2f h", span.job.value(), span.job_class,
                           span.begin_s / kHourS, span.end_s / kHourS)});
    }
    chart.rows.push_back(std::move(row));
  }
  const std::string cut =
      spans < simulator::kLaneSpansMax
          ? ""
          : absl::StrCat(" Only the first ", FormatCount(spans), " of their jobs are drawn.");
  return {.name = "devices",
          .title = chart.title,
          .svg = LaneChartSvg(chart),
          .note = absl::StrCat("The first device of each stage of the first replica. A job that ",
                               "is on a device runs in its bubbles only.", cut),
          .is_wide = true};
}

// What makes the run's training run another one than that of other runs.
std::string TrainingSettings(const SimOutcome& outcome) {
  std::string text;
  for (const SimSetting& setting : outcome.settings) {
    if (absl::StartsWith(setting.first, "training.")) absl::StrAppend(&text, setting.second, " ");
  }
  return text;
}

}  // namespace

absl::StatusOr<std::vector<SimPicture>> TimePictures(const std::vector<Dimension>& dimensions,
                                                     const std::vector<SimOutcome>& outcomes) {
  std::vector<SimPicture> pictures;
  std::vector<std::string> drawn;
  for (size_t i = 0; i < outcomes.size() && drawn.size() < kSimRunsDrawn; ++i) {
    if (outcomes[i].classes.empty()) continue;
    const std::string training = TrainingSettings(outcomes[i]);
    if (std::find(drawn.begin(), drawn.end(), training) != drawn.end()) continue;
    drawn.push_back(training);
    const std::string name = training.empty() ? "" : RunName(dimensions, i);
    ASSIGN_OR_RETURN(SimPicture picture, CyclePicture(name, outcomes[i], drawn.size()));
    pictures.push_back(std::move(picture));
  }
  for (size_t i = 0; i < std::min(outcomes.size(), kSimRunsDrawn); ++i) {
    pictures.push_back(LanePicture(RunName(dimensions, i), outcomes[i]));
  }
  return pictures;
}

}  // namespace pipefill
