#include "cli/plan/model_plan.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/output.h"
#include "common/status.h"

namespace pipefill {
namespace {

PlanWorkKind KindOf(simulator::OperationKind kind) {
  switch (kind) {
    case simulator::OperationKind::kForward:
      return PlanWorkKind::kForward;
    case simulator::OperationKind::kBackward:
    case simulator::OperationKind::kBackwardInput:
      return PlanWorkKind::kBackward;
    case simulator::OperationKind::kBackwardWeight:
      return PlanWorkKind::kWeight;
    case simulator::OperationKind::kReduction:
      return PlanWorkKind::kOther;
    case simulator::OperationKind::kOptimizer:
      break;
  }
  return PlanWorkKind::kOptimizer;
}

PlanDevice DeviceOf(const simulator::StageRun& stage, size_t number) {
  PlanDevice device;
  device.name = absl::StrCat("stage ", number);
  device.stage = static_cast<int>(number);
  device.bubble_share = stage.bubble_share;
  device.memory_peak_bytes = stage.memory_peak_bytes;
  for (const simulator::StageBubble& bubble : stage.bubbles) {
    device.bubbles.push_back({.bubble_class = bubble.bubble_class,
                              .ordinal = bubble.ordinal,
                              .offset_ns = bubble.offset_ns,
                              .mean_ns = bubble.mean_ns,
                              .p10_ns = bubble.p10_ns,
                              .p50_ns = bubble.p50_ns,
                              .p90_ns = bubble.p90_ns,
                              .memory_free_bytes = bubble.memory_free_bytes});
  }
  for (const simulator::TimedOperation& timed : stage.operations) {
    if (timed.end_ns == timed.begin_ns) continue;
    device.work.push_back({timed.begin_ns, timed.end_ns, KindOf(timed.operation.kind)});
  }
  return device;
}

std::string TitleOf(const simulator::PipelineShape& shape) {
  std::string title = absl::StrCat(Plural(shape.stages, "stage"), " x ", shape.microbatches,
                                   shape.microbatches == 1 ? " microbatch, " : " microbatches, ",
                                   simulator::Word(shape.schedule));
  if (shape.chunks > 1) absl::StrAppend(&title, " with ", shape.chunks, " chunks a stage");
  return title;
}

}  // namespace

absl::StatusOr<IdlePlan> PlanOfModel(const simulator::PipelineModel& model) {
  ASSIGN_OR_RETURN(const simulator::PipelineRun run, simulator::RunPipeline(model));
  IdlePlan plan;
  plan.title = TitleOf(model.shape);
  plan.iterations = run.iterations;
  plan.iteration_ns = run.iteration_ns;
  plan.bubble_share = run.bubble_share;
  for (size_t s = 0; s < run.stages.size(); ++s) {
    plan.devices.push_back(DeviceOf(run.stages[s], s));
    plan.devices.back().iteration_ns = run.iteration_ns;
  }
  return plan;
}

}  // namespace pipefill
