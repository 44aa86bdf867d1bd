#include "cli/plan/idle_plan.h"

namespace pipefill {

std::string Word(PlanWorkKind kind) {
  switch (kind) {
    case PlanWorkKind::kForward:
      return "forward";
    case PlanWorkKind::kBackward:
      return "backward";
    case PlanWorkKind::kWeight:
      return "weight";
    case PlanWorkKind::kOptimizer:
      return "optimizer";
    case PlanWorkKind::kOther:
      break;
  }
  return "other";
}

char Letter(PlanWorkKind kind) {
  switch (kind) {
    case PlanWorkKind::kForward:
      return 'F';
    case PlanWorkKind::kBackward:
      return 'B';
    case PlanWorkKind::kWeight:
      return 'W';
    case PlanWorkKind::kOptimizer:
      return 'O';
    case PlanWorkKind::kOther:
      break;
  }
  return '#';
}

}  // namespace pipefill
