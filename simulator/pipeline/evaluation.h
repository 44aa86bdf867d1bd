// When each operation runs: one evaluation for all schedules.
//
// An operation begins when the one before it on its stage has ended and what it waits for is there:
//
//   forward            the same microbatch's forward on the part before (and the transfer)
//   backward, input    the same gradient of the part behind (and the transfer), its own forward
//   weight             its own input gradient
//   optimizer          with waits_for_all: the last operation of every stage
//
// Transfers take time and no device; between parts on one stage there is none. Iterations follow
// each other on every stage; without an optimizer all stages wait for each other in between.
//
// Pure: chance comes from a seed.
#ifndef SIMULATOR_PIPELINE_EVALUATION_H_
#define SIMULATOR_PIPELINE_EVALUATION_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "simulator/pipeline/order.h"
#include "simulator/pipeline/shape.h"

namespace pipefill::simulator {

// Of one chunk of one stage, for one microbatch; >= 0.
struct ChunkTimes {
  int64_t forward_ns = 0;
  int64_t backward_input_ns = 0;
  int64_t backward_weight_ns = 0;
};

struct StageTimes {
  std::vector<ChunkTimes> chunks;  // one per chunk of the shape
  // Behind the last backward, with an optimizer only.
  int64_t reduction_ns = 0;
  int64_t optimizer_ns = 0;
  // A straggler: all its operations take so many times as long. > 0
  double slowness = 1;
};

struct Jitter {
  double share = 0;  // standard deviation of an operation's length, lognormal around its mean
  uint64_t seed = 1;
};

struct PipelineTimes {
  std::vector<StageTimes> stages;  // one per stage of the shape
  int64_t transfer_ns = 0;         // between neighbouring parts on different stages
  // Each iteration ends with a reduction and an optimizer step on each stage.
  bool has_optimizer = false;
  // The step waits for the backwards of all stages, as clipping by the global norm does.
  bool waits_for_all = false;
  Jitter jitter;
};

inline constexpr int64_t kOperationMaxNs = 3'600'000'000'000;

// InvalidArgument unless there is a time of a sensible size for everything.
absl::Status CheckTimes(const PipelineShape& shape, const PipelineTimes& times);

struct TimedOperation {
  Operation operation;
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
};

// One iteration; [stage] -> its operations in their order. begin_ns is the first operation's of
// stage 0.
struct IterationRun {
  int64_t begin_ns = 0;
  std::vector<std::vector<TimedOperation>> stages;
};

// One order per stage, with the optimizer's operations if the times have one.
std::vector<StageOrder> OrdersOf(const PipelineShape& shape, const PipelineTimes& times);

// `iterations` of them in a row, from a standing start, the stages one behind the other as they
// come out of it; `visit` gets each in turn. FailedPrecondition if the orders wait for each other
// in a circle. REQUIRES: CheckShape and CheckTimes accept, iterations > 0.
absl::Status EvaluateEach(const PipelineShape& shape, const PipelineTimes& times,
                          const std::vector<StageOrder>& orders, int iterations,
                          const std::function<void(IterationRun)>& visit);
// All of them together.
absl::StatusOr<std::vector<IterationRun>> Evaluate(const PipelineShape& shape,
                                                   const PipelineTimes& times,
                                                   const std::vector<StageOrder>& orders,
                                                   int iterations);

}  // namespace pipefill::simulator

#endif  // SIMULATOR_PIPELINE_EVALUATION_H_
