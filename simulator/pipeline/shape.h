// What a pipeline-parallel training run looks like: stages, microbatches, chunks, schedule; and
// which part of the model each stage holds.
//
//   virtual stage   the model cut into stages * chunks parts, in the order of the forward pass
//   interleaved     stage s holds parts s, p + s, 2p + s, ...      (p = stages)
//   V-shaped        stage s holds parts s and 2p - 1 - s: the forward goes down and comes back up
//
// Pure.
#ifndef SIMULATOR_PIPELINE_SHAPE_H_
#define SIMULATOR_PIPELINE_SHAPE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace pipefill::simulator {

enum class Schedule {
  kGpipe,                  // all forwards, then all backwards
  kOneForwardOneBackward,  // 1F1B, "PipeDream-Flush"
  kInterleaved,            // 1F1B with several chunks a stage, as in Megatron-LM
  kZeroBubbleH1,           // Qi et al. 2023, arXiv:2401.10241: 1F1B with weight gradients put off
  kZeroBubbleV,            // ZB-V, same paper, section 6: two chunks a stage, V-shaped
};

inline constexpr int kStagesMax = 1024;
inline constexpr int kMicrobatchesMax = 4096;
inline constexpr int kChunksMax = 64;
// stages * microbatches * chunks: with jitter half a GiB is needed for so many.
inline constexpr int64_t kPartsMax = 300'000;

struct PipelineShape {
  Schedule schedule = Schedule::kOneForwardOneBackward;
  int stages = 1;
  int microbatches = 1;
  int chunks = 1;  // per stage

  friend bool operator==(const PipelineShape&, const PipelineShape&) = default;
};

// InvalidArgument, in one line, unless the schedule can run so.
absl::Status CheckShape(const PipelineShape& shape);

// "gpipe", "1f1b", "interleaved", "zb-h1", "zb-v".
std::string Word(Schedule schedule);
const std::vector<Schedule>& AllSchedules();

// "16x8@1f1b": stages x microbatches @ schedule. `chunks` 0 = as the schedule needs: 2 for
// interleaved and zb-v, else 1. InvalidArgument with an example or the names there are.
absl::StatusOr<PipelineShape> ParsePipeline(absl::string_view text, int chunks);

// Whether weight gradients are operations of their own.
bool SplitsBackward(Schedule schedule);

// The number of the part that chunk `chunk` of `stage` is.
int VirtualStage(const PipelineShape& shape, int stage, int chunk);

struct ChunkPlace {
  int stage = 0;
  int chunk = 0;
};
ChunkPlace PlaceOf(const PipelineShape& shape, int virtual_stage);

}  // namespace pipefill::simulator

#endif  // SIMULATOR_PIPELINE_SHAPE_H_
