// What several fill jobs get that are resident on one device and take turns in its windows: who was
// served least goes first, and the rest of a window that is too short for one goes to the next one
// whose unit fits.
//
// Pure.
#ifndef PLANNER_TURNS_H_
#define PLANNER_TURNS_H_

#include <cstdint>
#include <vector>

#include "planner/calendar.h"
#include "planner/chain_packer.h"
#include "planner/profile.h"

namespace pipefill {

struct Resident {
  const Configuration* configuration = nullptr;  // outlives the call
  // As this one sees it: windows for its own unit length, with the memory that the others leave.
  Cycle cycle;
  int32_t policy_rank = 0;  // the lower one goes first; equal ones share alike
};

struct ResidentRate {
  double samples_per_s = 0;
  double used_share = 0;  // of the windows' time in `Resident::cycle`
};

struct TurnOptions {
  NodeTime time = NodeTime::kMean;
  // No unit starts in a turn that has lasted this long, if there are others.
  int64_t turn_ns = 1'000'000;
  // The rates are means over this many cycles; fewer once steps_max nodes were looked at.
  int64_t cycles_max = 1'000;
  int64_t steps_max = 200'000;
};

// One rate per resident. REQUIRES: as PlanConfiguration, for each; equal numbers of windows.
std::vector<ResidentRate> ShareCycle(const std::vector<Resident>& residents,
                                     const TurnOptions& options);

}  // namespace pipefill

#endif  // PLANNER_TURNS_H_
