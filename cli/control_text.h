// What filling one main job costs, in words: its slowdown against its budget.
//
// Pure.
#ifndef CLI_CONTROL_TEXT_H_
#define CLI_CONTROL_TEXT_H_

#include <string>

#include "proto/types.pb.h"

namespace pipefill {

// Whether `control` holds a slowdown, and whether with its 95 % interval.
bool HasEstimate(const v1::FillControl& control);
bool HasInterval(const v1::FillControl& control);

enum class Cost {
  kUnknown,  // no estimate
  kWithin,   // all of the interval is within the budget
  kUnsure,   // the budget lies inside the interval, or there is no interval
  kOver,     // all of the interval is over the budget
};
Cost CostOf(const v1::FillControl& control);

// "+0.31 %"; "-" without an estimate.
std::string SlowdownText(const v1::FillControl& control);
// "-0.10..+0.72 %"; "" without an interval.
std::string IntervalText(const v1::FillControl& control);
// "+0.31 % slower (95 %: -0.10..+0.72 %), within its budget of 1 %", "not known yet, budget 1 %".
std::string CostText(const v1::FillControl& control);
// "filling", "backed off: +1.8 % in 12 hold-outs; tries again in 28 s". The agent's reason if it
// gave one, else what the state means.
std::string StateText(const v1::FillControl& control);

}  // namespace pipefill

#endif  // CLI_CONTROL_TEXT_H_
