// The lengths that one bubble had over iterations, as one row of a plan; and a plan's sums.
//
// Thread-compatible.
#ifndef CLI_PLAN_BUBBLE_LENGTHS_H_
#define CLI_PLAN_BUBBLE_LENGTHS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cli/plan/idle_plan.h"

namespace pipefill {

class BubbleLengths {
 public:
  void Add(int64_t offset_ns, int64_t length_ns);
  size_t count() const { return lengths_.size(); }
  // Without a name. REQUIRES: count() > 0.
  PlanBubble Bubble() const;

 private:
  std::vector<int64_t> lengths_;
  int64_t offset_total_ns_ = 0;
};

// iteration_ns and bubble_share of a plan from those of its devices, of which there is one at
// least.
void SumUp(IdlePlan& plan);

}  // namespace pipefill

#endif  // CLI_PLAN_BUBBLE_LENGTHS_H_
