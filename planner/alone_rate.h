// How fast a configuration is with a device to itself.
//
// Pure.
#ifndef PLANNER_ALONE_RATE_H_
#define PLANNER_ALONE_RATE_H_

#include "planner/profile.h"

namespace pipefill {

// Samples per second. REQUIRES: CheckProfile accepts the configuration.
inline double AloneRate(const Configuration& configuration) {
  double pass_ns = 0;
  for (const ProfileNode& node : configuration.chain) {
    pass_ns += static_cast<double>(node.time_ns) * static_cast<double>(node.repeats);
  }
  return static_cast<double>(configuration.samples_per_pass) / pass_ns * 1e9;
}

}  // namespace pipefill

#endif  // PLANNER_ALONE_RATE_H_
