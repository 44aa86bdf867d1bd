// One iteration of a training run with a fill job in it, to draw: what each stage works on, its
// bubbles, and the part of each that units fill.
//
// Pure.
#ifndef SIMULATOR_CLUSTER_FILLED_CYCLE_H_
#define SIMULATOR_CLUSTER_FILLED_CYCLE_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "simulator/cluster/fill_offer.h"
#include "simulator/cluster/training.h"
#include "simulator/cluster/workload.h"
#include "simulator/pipeline/evaluation.h"

namespace pipefill::simulator {

// Times are from the begin of the iteration.
struct FilledBubble {
  BubbleClass bubble_class = BubbleClass::kCustom;
  uint32_t ordinal = 0;
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  bool is_offered = false;
  UnitRun run;  // from the bubble's begin; without units nothing fits
};

struct FilledStage {
  std::vector<TimedOperation> operations;
  std::vector<FilledBubble> bubbles;  // in the order of the iteration
};

struct FilledCycle {
  int64_t iteration_ns = 0;
  std::vector<FilledStage> stages;
};

// The last of the model's iterations, with jobs of the class on every stage, each as it does most
// there. Errors as LearnTraining. REQUIRES: CheckWorkload accepts the class.
absl::StatusOr<FilledCycle> FillOneCycle(const TrainingRun& run, const JobClass& job_class);

}  // namespace pipefill::simulator

#endif  // SIMULATOR_CLUSTER_FILLED_CYCLE_H_
