#include "simulator/pipeline/memory.h"

#include <algorithm>

namespace pipefill::simulator {
namespace {

int64_t Change(OperationKind kind, const ActivationBytes& bytes) {
  switch (kind) {
    case OperationKind::kForward:
      return bytes.activation;
    case OperationKind::kBackward:
      return -bytes.activation;
    case OperationKind::kBackwardInput:
      return bytes.kept_for_weight - bytes.activation;
    case OperationKind::kBackwardWeight:
      return -bytes.kept_for_weight;
    case OperationKind::kReduction:
    case OperationKind::kOptimizer:
      break;
  }
  return 0;
}

}  // namespace

std::vector<int64_t> HeldBytes(const StageOrder& order, const ActivationBytes& bytes) {
  std::vector<int64_t> held = {0};
  held.reserve(order.size() + 1);
  for (const Operation& operation : order)
    held.push_back(held.back() + Change(operation.kind, bytes));
  return held;
}

int64_t PeakBytes(const StageOrder& order, const ActivationBytes& bytes) {
  const std::vector<int64_t> held = HeldBytes(order, bytes);
  return *std::max_element(held.begin(), held.end());
}

}  // namespace pipefill::simulator
