// What is idle in a pipeline-parallel training run, and when: the bubbles of each stage, named as
// the SDK names them (client/main_job/chunk_order.h), with length, place and free memory.
//
//   shape -> order of each stage -> evaluation of some iterations -> bubbles
//
// The first iterations are left out: stages come out of a standing start, and find their places
// behind each other. With jitter every length is a distribution over the iterations looked at.
//
// With an optimizer the pause after it goes on to the next first forward and is one bubble, a tail.
// Without one all stages wait for each other at the end, and head and tail are two.
//
// Pure.
#ifndef SIMULATOR_PIPELINE_PIPELINE_MODEL_H_
#define SIMULATOR_PIPELINE_PIPELINE_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "client/pages/signal_page.h"
#include "simulator/pipeline/evaluation.h"
#include "simulator/pipeline/memory.h"
#include "simulator/pipeline/shape.h"

namespace pipefill::simulator {

struct PipelineModel {
  PipelineShape shape;
  PipelineTimes times;
  std::optional<std::vector<StageMemory>> memory;  // one per stage; absent: not asked
};

// A wait that had a length in at least one iteration.
struct StageBubble {
  BubbleClass bubble_class = BubbleClass::kCustom;
  uint32_t ordinal = 0;   // operations before it
  int64_t offset_ns = 0;  // mean, from the begin of stage 0's first operation
  int64_t mean_ns = 0;
  int64_t p10_ns = 0;
  int64_t p50_ns = 0;
  int64_t p90_ns = 0;
  std::optional<int64_t> memory_free_bytes;
  std::vector<int64_t> lengths_ns;  // one per iteration looked at, in their order
};

struct StageRun {
  std::vector<StageBubble> bubbles;        // in the order of the iteration
  double bubble_share = 0;                 // of the iteration's time
  std::vector<TimedOperation> operations;  // of the last iteration; times from its begin
  std::optional<int64_t> memory_peak_bytes;
};

struct PipelineRun {
  int64_t iteration_ns = 0;  // mean
  double bubble_share = 0;   // of all stages' time
  int iterations = 0;        // looked at
  std::vector<StageRun> stages;
};

// InvalidArgument where shape or times make no sense; ResourceExhausted if a stage needs more than
// its device has.
absl::StatusOr<PipelineRun> RunPipeline(const PipelineModel& model);

}  // namespace pipefill::simulator

#endif  // SIMULATOR_PIPELINE_PIPELINE_MODEL_H_
