// In which order each stage runs the operations of an iteration: all that a schedule is. When they
// run follows from that order and from what each operation waits for (evaluation.h).
//
// Sources: GPipe (Huang et al. 2019, arXiv:1811.06965); 1F1B and interleaved 1F1B (Narayanan et al.
// 2021, arXiv:2104.04473); ZB-H1 and ZB-V (Qi et al. 2023, arXiv:2401.10241, sections 2.1 and 6).
// The two zero-bubble orders are those drawn by hand for equal times, not the output of the paper's
// search.
//
// Pure.
#ifndef SIMULATOR_PIPELINE_ORDER_H_
#define SIMULATOR_PIPELINE_ORDER_H_

#include <vector>

#include "simulator/pipeline/shape.h"

namespace pipefill::simulator {

enum class OperationKind {
  kForward,
  kBackward,        // both gradients
  kBackwardInput,   // the gradient that the stage before waits for
  kBackwardWeight,  // the rest; nobody waits for it
  kReduction,       // of gradients over data-parallel replicas, and all else before the optimizer
  kOptimizer,
};

// kReduction and kOptimizer have neither microbatch nor chunk.
struct Operation {
  OperationKind kind = OperationKind::kForward;
  int microbatch = 0;
  int chunk = 0;

  friend auto operator<=>(const Operation&, const Operation&) = default;
};

using StageOrder = std::vector<Operation>;

// Forwards and backwards alone. REQUIRES: CheckShape accepts the shape; 0 <= stage < stages.
StageOrder OrderOf(const PipelineShape& shape, int stage);

}  // namespace pipefill::simulator

#endif  // SIMULATOR_PIPELINE_ORDER_H_
