// Holds what filling costs one main job to its budget: moves lambda, the promised overrun per unit
// time of all its bubbles, and stops filling where that is not enough.
//
//       cost over the budget with confidence, and lambda low already or not to blame; or far over
//       it
//   filling ---------------------------------------------------------------> backed off
//      ^                                                                         |
//      +------------- the wait is over, or the budget was raised ----------------+
//                     lambda at its least, the estimate begins anew
//
// While filling it decides once per kDecideHoldOuts held-out or kDecideFilled filled iterations:
//   - the whole interval of the estimate, or of the newest kRecent comparisons, is over the budget:
//     lambda halves, the estimate begins anew;
//   - overrun took more than kOverrunTarget of the bubble time: lambda falls in proportion;
//   - the estimate is close to the budget: lambda falls by kRaise;
//   - estimate, newest comparisons and overrun are well under: lambda rises by kRaise. Never
//     without an estimate.
// Of an estimate with a wide interval as much is taken off first as its noise may have added.
// All lambda can change is overrun. While that takes less than kToBlame of the budget, a slowdown
// has other causes (caches, memory bandwidth, tasks that lie): lambda does not fall for it, and a
// confident one stops filling at once.
//
// The wait begins at back_off_min, doubles up to back_off_max, and is never shorter than it takes
// to make good what was lost above the budget: so over tries and waits together the budget holds,
// also where iterations take minutes. kProven comparisons under the budget set the wait back.
//
// Pure. Thread-compatible: one controller belongs to one main job on one node.
#ifndef AGENT_LEARN_SLOWDOWN_CONTROLLER_H_
#define AGENT_LEARN_SLOWDOWN_CONTROLLER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "agent/learn/fill_limits.h"
#include "agent/learn/slowdown_estimate.h"
#include "common/instant.h"

namespace pipefill {

inline constexpr int64_t kDecideHoldOuts = 4;
inline constexpr int64_t kDecideFilled = 64;
inline constexpr double kRaise = 0.02;
// Lambda rises only while the slowdown is below the first of these shares of the budget, and falls
// above the second: so that what it settles at is below the budget, not around it.
inline constexpr double kHeadRoom = 0.7;
inline constexpr double kTooClose = 0.9;
// Overrun per iteration time from which on it is worth lowering lambda, as a share of the budget.
inline constexpr double kToBlame = 0.25;
// Overrun per bubble time; the product promises 3 %.
inline constexpr double kOverrunTarget = 0.025;
inline constexpr size_t kRecent = 16;
inline constexpr size_t kProven = 32;
// An interval beyond this many budgets stops filling whatever lambda is.
inline constexpr double kFarOver = 3.0;
// No wait is longer, whatever was lost.
inline constexpr absl::Duration kBackOffLimit = absl::Hours(24);

struct ControlledIteration {
  IterationSample sample;
  // Of all ranks of the main job here, for filled ones.
  int64_t bubble_ns = 0;
  int64_t overrun_ns = 0;  // CPU time of units after their bubbles
};

struct SlowdownControl {
  bool is_backed_off = false;
  double overrun_ratio = 0;  // lambda
  double budget = 0;         // 0.01 = 1 %
  std::optional<SlowdownEstimate> estimate;
  // Overrun per bubble time, as of the last decision.
  double overrun_share = 0;
  int64_t back_offs = 0;
  Instant retry_at;  // while backed off
  std::string text;  // one line: why it fills or not
};

class SlowdownController {
 public:
  // REQUIRES: 0 < budget; overrun_ratio_start in (0, 1), taken between the options' limits.
  SlowdownController(const ControllerOptions& options, double overrun_ratio_start, double budget);

  // Iterations in order. Each returns whether control() has changed.
  bool OnIteration(const ControlledIteration& iteration, Instant now);
  bool OnTick(Instant now);
  bool SetBudget(double budget, Instant now);

  const SlowdownControl& control() const { return control_; }

 private:
  void Decide(Instant now);
  void Cut(const SlowdownEstimate& estimate);
  void BackOff(const SlowdownEstimate& estimate, Instant now);
  void Retry();
  void Describe();
  // Notes what was lost above the budget.
  void AddDebt(const SlowdownEstimate& estimate);

  const ControllerOptions options_;
  SlowdownEstimator estimator_;
  SlowdownControl control_;
  absl::Duration next_back_off_;
  absl::Duration debt_ = absl::ZeroDuration();
  // Since the last decision.
  int64_t hold_outs_ = 0;
  int64_t filled_ = 0;
  int64_t filled_ns_ = 0;
  int64_t bubble_ns_ = 0;
  int64_t overrun_ns_ = 0;
};

}  // namespace pipefill

#endif  // AGENT_LEARN_SLOWDOWN_CONTROLLER_H_
