// How a fill job is best run on a device: each configuration's chain is packed into the cycle's
// windows, again and again, and the configuration that does most samples per second wins. The
// execution plan of PipeFill (arXiv 2410.07192), in the steady state: each cycle goes on where the
// one before stopped.
//
// The place in the chain at a cycle's begin determines all that follows. So once a place comes
// back, the cycles in between repeat for ever and the rate is exact, however long the chain. A
// chain that takes too long for that gets the rate of what was packed, and how far it may be off.
//
// Pure.
#ifndef PLANNER_EXECUTION_PLAN_H_
#define PLANNER_EXECUTION_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planner/calendar.h"
#include "planner/chain_packer.h"
#include "planner/profile.h"

namespace pipefill {

// Why a configuration cannot run.
enum class Obstacle {
  kNoWindow,        // nothing is offered
  kMemoryResident,  // what it holds all the time does not fit every window: need, have in bytes
  kMemoryNode,      // a node does not fit the memory of any window that is long enough
  kTime,            // a node is longer than every window with the memory for it: need, have in ns
};

struct Infeasibility {
  Obstacle obstacle = Obstacle::kNoWindow;
  size_t node = 0;  // of the chain, with kMemoryNode and kTime
  int64_t need = 0;
  int64_t have = 0;

  friend bool operator==(const Infeasibility&, const Infeasibility&) = default;
};

// One line, with numbers: "node 3 takes 12ms, longer than every bubble (the longest has 5ms)".
std::string Explain(const Infeasibility& infeasibility);

struct ConfigurationPlan {
  std::optional<Infeasibility> infeasibility;
  double samples_per_s = 0;  // hold-outs included
  // Over the cycles that repeat, or over all that were packed.
  int64_t cycles = 0;
  int64_t units = 0;
  double used_share = 0;  // of the windows' time
  // The true rate lies within this share of samples_per_s; 0 = exact.
  double error_share = 0;

  bool is_feasible() const { return !infeasibility.has_value(); }
};

struct PackingOptions {
  NodeTime time = NodeTime::kMean;
  // Nodes and windows to look at for one configuration before settling for less than exact.
  int64_t steps_max = 1'000'000;
};

// REQUIRES: CheckProfile accepts the configuration; iteration_ns > 0.
ConfigurationPlan PlanConfiguration(const Configuration& configuration, const Cycle& cycle,
                                    const PackingOptions& options);

struct ExecutionPlan {
  std::vector<ConfigurationPlan> configurations;  // as in the profile
  // The feasible one with the highest rate, the first of equal ones; nullopt if none is feasible.
  std::optional<size_t> best;
};

// Each configuration is planned with the windows for its own typical unit.
ExecutionPlan PlanExecution(const FillProfile& profile, const Calendar& calendar,
                            const PackingOptions& options);

// Why no configuration can run: the reason of the one that came closest, with its name. REQUIRES:
// !plan.best.
std::string ExplainInfeasible(const FillProfile& profile, const ExecutionPlan& plan);

}  // namespace pipefill

#endif  // PLANNER_EXECUTION_PLAN_H_
