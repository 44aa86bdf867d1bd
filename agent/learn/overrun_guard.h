// What is taken off every latest start of one bubble, because its units overrun by more than was
// promised: units longer than their gate expects, a bubble that ends early after a task's warm-up,
// a clock that ticks late. Lambda is one for all bubbles; the guard is the bubble's own.
//
//   every kGuardBubbles bubbles with units in them:
//     excess = (overrun - lambda * unit time) / bubbles
//     over:   guard grows by the excess, up to half of the bubble's median
//     under:  guard shrinks by a quarter; below kGuardMin it is gone
//
// Pure. Thread-compatible: one guard belongs to one bubble id.
#ifndef AGENT_LEARN_OVERRUN_GUARD_H_
#define AGENT_LEARN_OVERRUN_GUARD_H_

#include <cstdint>

namespace pipefill {

inline constexpr int64_t kGuardBubbles = 16;
inline constexpr int64_t kGuardMinNs = 10'000;

// Sums over all of a bubble's units so far; they only grow.
struct BubbleUse {
  int64_t bubbles = 0;  // in iterations that are no hold-outs
  int64_t unit_cpu_ns = 0;
  int64_t overrun_ns = 0;  // part of it, after the bubble's end
};

class OverrunGuard {
 public:
  // `overrun_ratio`: lambda; `median_ns`: of the bubble's lengths. Returns whether guard_ns moved.
  bool Update(const BubbleUse& use, double overrun_ratio, int64_t median_ns);

  // Whether Update would do anything.
  bool IsDue(const BubbleUse& use) const { return use.bubbles - before_.bubbles >= kGuardBubbles; }

  int64_t guard_ns() const { return guard_ns_; }

 private:
  BubbleUse before_;
  int64_t guard_ns_ = 0;
};

}  // namespace pipefill

#endif  // AGENT_LEARN_OVERRUN_GUARD_H_
