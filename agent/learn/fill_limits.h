// How far filling may go: what an operator configures (ControllerConfig and FailureConfig of
// proto/config.proto), with its defaults, in types with units.
//
// Pure.
#ifndef AGENT_LEARN_FILL_LIMITS_H_
#define AGENT_LEARN_FILL_LIMITS_H_

#include <cstdint>

#include "absl/time/time.h"

namespace pipefill {

// Budgets and shares are in millionths.
inline constexpr uint32_t kPpm = 1'000'000;

struct ControllerOptions {
  // Slowdown allowed to main jobs for which nothing else is set. 1 to kPpm.
  uint32_t budget_ppm = 10'000;
  // The promised overrun per unit time moves between these: 0 < min <= max < 1.
  double overrun_ratio_min = 0.02;
  double overrun_ratio_max = 0.5;
  // How long filling stops once the budget was exceeded, doubled each time: 0 < min <= max.
  absl::Duration back_off_min = absl::Seconds(30);
  absl::Duration back_off_max = absl::Minutes(30);
};

struct FailureOptions {
  // A main job without an edge for this long may count as standing still; 0 = never.
  absl::Duration after = absl::Seconds(5);
  // Longest unit that may start then. More than 0.
  absl::Duration unit_max = absl::Milliseconds(20);
};

}  // namespace pipefill

#endif  // AGENT_LEARN_FILL_LIMITS_H_
