#include "simulator/pipeline/testing/any_pipeline.h"

#include <rapidcheck.h>

#include <vector>

namespace pipefill::simulator {
namespace {

int64_t AnyTime(int64_t min_ns, int64_t max_ns) {
  return *rc::gen::inRange<int64_t>(min_ns, max_ns + 1);
}

ChunkTimes AnyChunk(int64_t min_ns, int64_t max_ns) {
  return {AnyTime(min_ns, max_ns), AnyTime(min_ns, max_ns), AnyTime(min_ns, max_ns)};
}

}  // namespace

PipelineShape AnyShape() {
  PipelineShape shape;
  shape.schedule = *rc::gen::elementOf(AllSchedules());
  shape.stages = *rc::gen::inRange(1, 8);
  shape.microbatches = *rc::gen::inRange(1, 21);
  if (shape.schedule == Schedule::kZeroBubbleV) shape.chunks = 2;
  if (shape.schedule == Schedule::kInterleaved) {
    shape.chunks = *rc::gen::inRange(1, 5);
    shape.microbatches = shape.stages * *rc::gen::inRange(1, 4);
  }
  return shape;
}

PipelineTimes AnyTimes(const PipelineShape& shape) {
  PipelineTimes times;
  for (int stage = 0; stage < shape.stages; ++stage) {
    StageTimes own;
    for (int chunk = 0; chunk < shape.chunks; ++chunk) own.chunks.push_back(AnyChunk(0, 10'000));
    own.reduction_ns = AnyTime(0, 10'000);
    own.optimizer_ns = AnyTime(0, 10'000);
    own.slowness = *rc::gen::element(1.0, 1.0, 1.7);
    times.stages.push_back(own);
  }
  times.transfer_ns = AnyTime(0, 3'000);
  times.has_optimizer = *rc::gen::arbitrary<bool>();
  times.waits_for_all = *rc::gen::arbitrary<bool>();
  times.jitter = {.share = *rc::gen::element(0.0, 0.3), .seed = *rc::gen::arbitrary<uint64_t>()};
  return times;
}

PipelineTimes AnyEvenTimes(const PipelineShape& shape) {
  PipelineTimes times;
  const std::vector<ChunkTimes> chunks(static_cast<size_t>(shape.chunks), AnyChunk(1, 1000));
  times.stages.assign(static_cast<size_t>(shape.stages), {.chunks = chunks});
  return times;
}

}  // namespace pipefill::simulator
