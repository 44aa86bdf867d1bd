// What a stage's activations hold while an iteration goes on.
//
//   forward  +activation     backward  -activation     input  -(activation - kept)    weight  -kept
//
// Nothing changes while a stage waits, so a bubble has one amount of free memory.
//
// Pure.
#ifndef SIMULATOR_PIPELINE_MEMORY_H_
#define SIMULATOR_PIPELINE_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "simulator/pipeline/order.h"

namespace pipefill::simulator {

// Of one microbatch in one chunk.
struct ActivationBytes {
  int64_t activation = 0;       // from its forward to its backward
  int64_t kept_for_weight = 0;  // from its input gradient to its weight gradient; <= activation

  friend bool operator==(const ActivationBytes&, const ActivationBytes&) = default;
};

struct StageMemory {
  int64_t device_bytes = 0;  // of the whole device
  int64_t static_bytes = 0;  // weights, gradients, optimizer state, whatever stays
  ActivationBytes per_chunk;
};

// Entry k: bytes of activations after the first k operations (and while the k-th runs). One more
// than operations.
std::vector<int64_t> HeldBytes(const StageOrder& order, const ActivationBytes& bytes);
int64_t PeakBytes(const StageOrder& order, const ActivationBytes& bytes);

}  // namespace pipefill::simulator

#endif  // SIMULATOR_PIPELINE_MEMORY_H_
