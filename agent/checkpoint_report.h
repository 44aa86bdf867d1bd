// What users are told of a task's checkpoints.
//
// Pure.
#ifndef AGENT_CHECKPOINT_REPORT_H_
#define AGENT_CHECKPOINT_REPORT_H_

#include <cstdint>

#include "agent/page_reader.h"
#include "proto/types.pb.h"

namespace pipefill {

// Sets the fields of `progress` that tell of checkpoints. `unix_offset_ns`: the wall clock less
// CLOCK_MONOTONIC.
void ReportCheckpoints(const CheckpointView& view, int64_t unix_offset_ns,
                       v1::FillProgress* progress);

}  // namespace pipefill

#endif  // AGENT_CHECKPOINT_REPORT_H_
