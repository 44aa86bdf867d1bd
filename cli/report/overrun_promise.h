// What was promised about overrun, against what happened.
//
// Every unit started under a latest start with the promise that its expected overrun is at most
// lambda of its length (agent/learn/latest_start.h). One unit proves nothing; the sum over many
// must keep it:
//
//   sum of overrun  <=  (1 + kLearningError) * sum of lambda * length
//                       + kPromiseErrors standard errors
//
//   overrun   CPU time after the end of its bubble (client/pages/unit_split.h)
//   length    the gate's estimate, or the unit's CPU time if that was more
//   lambda    the larger of what held at the bubble's begin and at the unit's start, as the trace
//             says (FillControlChanged); the default of the configuration if it says nothing
//   error     of the sum of (overrun - lambda * length), by bubble: units of one bubble share its
//             length, so they are one observation
//
// kLearningError: the promise is about the lengths that the agent has kept, 64 of each bubble, and
// a mean over 64 is itself off by about an eighth of their spread. Elastic units, which choose
// their length by the promise, show it; others start earlier than they might and stay far below.
//
// Units of failures are not in it: nothing is promised about when a main job moves again.
//
// Pure.
#ifndef CLI_REPORT_OVERRUN_PROMISE_H_
#define CLI_REPORT_OVERRUN_PROMISE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cli/report/trace.h"
#include "cli/report/unit_ledger.h"

namespace pipefill {

// Of PredictorConfig.overrun_ratio (proto/config.proto).
inline constexpr double kDefaultOverrunRatio = 0.2;
inline constexpr double kPromiseErrors = 3;
inline constexpr double kLearningError = 0.125;
// With fewer of either a sum proves nothing.
inline constexpr int64_t kPromiseUnitsMin = 50;
inline constexpr int64_t kPromiseBubblesMin = 30;

struct PromiseSum {
  size_t rank = kNone;  // index into Trace::ranks; kNone: over all
  BubbleName name;
  int64_t units = 0;
  int64_t bubbles = 0;  // with a unit
  double overrun_ns = 0;
  double promised_ns = 0;
  double error_ns = 0;  // one standard error of the difference

  bool is_enough() const { return units >= kPromiseUnitsMin && bubbles >= kPromiseBubblesMin; }
  bool is_kept() const {
    return overrun_ns <= (1 + kLearningError) * promised_ns + kPromiseErrors * error_ns;
  }
};

// One sum for each bubble id of each rank that had a unit, then one over all. `ledger` is that of
// `trace`.
std::vector<PromiseSum> SumPromises(const Trace& trace, const UnitLedger& ledger);

}  // namespace pipefill

#endif  // CLI_REPORT_OVERRUN_PROMISE_H_
