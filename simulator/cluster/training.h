// The training run of a simulated cluster: replicas of one pipeline, each stage on a node of its
// own whose devices share its tensors and so have the same bubbles.
//
// Pure.
#ifndef SIMULATOR_CLUSTER_TRAINING_H_
#define SIMULATOR_CLUSTER_TRAINING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "scheduler/core/device.h"
#include "simulator/cluster/fill_offer.h"
#include "simulator/pipeline/pipeline_model.h"

namespace pipefill::simulator {

struct TrainingRun {
  PipelineModel pipeline;
  int replicas = 1;           // data-parallel; >= 1
  int devices_per_stage = 1;  // tensor-parallel; >= 1
  // Of a device, left by the main job in every bubble, where the model has no memory.
  int64_t memory_free_bytes = int64_t{4} << 30;
  FillRule rule;

  int nodes() const { return replicas * pipeline.shape.stages; }
  int devices() const { return nodes() * devices_per_stage; }
};

// The run as its agents have learned it.
struct LearnedTraining {
  TrainingRun run;
  double bubble_share = 0;
  std::vector<StageOffer> stages = {};
};

// InvalidArgument or ResourceExhausted as RunPipeline, or if the run makes no sense.
absl::StatusOr<LearnedTraining> LearnTraining(const TrainingRun& run);

// Node i holds stage i % stages.
std::string NodeName(const LearnedTraining& training, int node);
const StageOffer& OfferOfNode(const LearnedTraining& training, int node);
// As its agent reports them: one task at a time on each.
std::vector<scheduler::Device> DevicesOfNode(const LearnedTraining& training, int node);
std::vector<scheduler::BubbleStats> BubblesOfNode(const LearnedTraining& training, int node);

}  // namespace pipefill::simulator

#endif  // SIMULATOR_CLUSTER_TRAINING_H_
