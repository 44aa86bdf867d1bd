// What a model of a training run says, as a plan.
//
// Pure.
#ifndef CLI_PLAN_MODEL_PLAN_H_
#define CLI_PLAN_MODEL_PLAN_H_

#include "absl/status/statusor.h"
#include "cli/plan/idle_plan.h"
#include "simulator/pipeline/pipeline_model.h"

namespace pipefill {

// Errors: those of RunPipeline.
absl::StatusOr<IdlePlan> PlanOfModel(const simulator::PipelineModel& model);

}  // namespace pipefill

#endif  // CLI_PLAN_MODEL_PLAN_H_
