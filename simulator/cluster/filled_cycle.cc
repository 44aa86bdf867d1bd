#include "simulator/cluster/filled_cycle.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "common/status.h"

namespace pipefill::simulator {
namespace {

// nullptr if none has a unit that starts.
const Configuration* FastestOf(const JobClass& job_class, const StageOffer& offer) {
  const Configuration* fastest = nullptr;
  double most_samples_per_s = 0;
  for (const Configuration& configuration : job_class.profile.configurations) {
    const std::optional<FillYield> yield = Fill(configuration, offer, job_class.slowness);
    if (!yield.has_value() || yield->samples_per_s <= most_samples_per_s) continue;
    most_samples_per_s = yield->samples_per_s;
    fastest = &configuration;
  }
  return fastest;
}

// In the last iteration; ordinals count the operations before.
FilledBubble BubbleIn(const StageRun& stage, const StageBubble& bubble) {
  const int64_t length_ns = bubble.lengths_ns.back();
  const int64_t begin_ns = bubble.ordinal == 0 ? stage.operations.front().begin_ns - length_ns
                                               : stage.operations[bubble.ordinal - 1].end_ns;
  return {.bubble_class = bubble.bubble_class,
          .ordinal = bubble.ordinal,
          .begin_ns = begin_ns,
          .end_ns = begin_ns + length_ns,
          .is_offered = false,
          .run = {}};
}

FilledStage FilledOf(const StageRun& stage, const StageOffer& offer, const JobClass& job_class) {
  FilledStage filled{.operations = stage.operations, .bubbles = {}};
  for (const StageBubble& bubble : stage.bubbles) filled.bubbles.push_back(BubbleIn(stage, bubble));
  const Configuration* configuration = FastestOf(job_class, offer);
  if (configuration == nullptr) return filled;
  const std::vector<UnitRun> runs =
      FillIteration(*configuration, offer, job_class.slowness, offer.iterations - 1);
  size_t next = 0;  // offered bubbles are some of the stage's, in the same order
  for (FilledBubble& bubble : filled.bubbles) {
    const bool is_next = next < runs.size() &&
                         offer.bubbles[next].bubble_class == bubble.bubble_class &&
                         offer.bubbles[next].ordinal == bubble.ordinal;
    if (!is_next) continue;
    bubble.is_offered = true;
    bubble.run = runs[next++];
  }
  return filled;
}

}  // namespace

absl::StatusOr<FilledCycle> FillOneCycle(const TrainingRun& run, const JobClass& job_class) {
  ASSIGN_OR_RETURN(const LearnedTraining training, LearnTraining(run));
  ASSIGN_OR_RETURN(const PipelineRun pipeline, RunPipeline(run.pipeline));
  FilledCycle cycle{.iteration_ns = pipeline.iteration_ns, .stages = {}};
  for (size_t s = 0; s < pipeline.stages.size(); ++s) {
    cycle.stages.push_back(FilledOf(pipeline.stages[s], training.stages[s], job_class));
  }
  return cycle;
}

}  // namespace pipefill::simulator
