// Pipelines of all kinds for property tests, drawn by rapidcheck.
//
// Thread-compatible: used from one thread.
#ifndef SIMULATOR_PIPELINE_TESTING_ANY_PIPELINE_H_
#define SIMULATOR_PIPELINE_TESTING_ANY_PIPELINE_H_

#include "simulator/pipeline/evaluation.h"
#include "simulator/pipeline/shape.h"

namespace pipefill::simulator {

// Up to 7 stages, 20 microbatches and 4 chunks.
PipelineShape AnyShape();
// Uneven stages, stragglers, jitter, optimizers: all may be there or not. Times up to 10 us.
PipelineTimes AnyTimes(const PipelineShape& shape);
// All stages alike, no transfers, no optimizer; f, b and w in [1, 1000] ns a chunk.
PipelineTimes AnyEvenTimes(const PipelineShape& shape);

}  // namespace pipefill::simulator

#endif  // SIMULATOR_PIPELINE_TESTING_ANY_PIPELINE_H_
