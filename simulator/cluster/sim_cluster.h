// A cluster in virtual time: schedulerd's own loop, state, planner and policies, with simulated
// agents in place of streams and a journal that forgets. Nothing is decided here.
//
//   arrivals --> SchedulerLoop --> SimAgents --> ends --> SchedulerLoop
//
// One seed gives one run, to the nanosecond.
//
// Pure but for `on_progress`.
#ifndef SIMULATOR_CLUSTER_SIM_CLUSTER_H_
#define SIMULATOR_CLUSTER_SIM_CLUSTER_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "planner/policy.h"
#include "simulator/cluster/sim_agents.h"
#include "simulator/cluster/training.h"
#include "simulator/cluster/workload.h"

namespace pipefill::simulator {

// Quantiles of completion times that are kept: 0, 1, ..., 100 %.
inline constexpr size_t kCompletionQuantiles = 101;

struct ClusterRun {
  TrainingRun training;
  Workload workload;
  absl::Duration horizon = absl::Hours(24);
  // No figures are taken before: the cluster fills up.
  absl::Duration warm_up = absl::ZeroDuration();
  uint64_t seed = 1;
  SimAgents::Options agents;
};

// The bubbles of one class.
struct ClassFigures {
  double bubble_share = 0;  // of all devices' time
  double filled_share = 0;  // of those bubbles
};

// Between warm_up and horizon, unless it says otherwise.
struct ClusterResult {
  int devices = 0;
  double bubble_share = 0;  // of all devices' time
  // Work done by fill jobs, as a share of the main job's.
  double gain = 0;
  // Devices of their own that would have done the same work.
  double extra_devices = 0;
  double filled_share = 0;   // of the bubbles
  double overrun_share = 0;  // of the bubbles
  double bubble_mean_s = 0;  // length of the bubbles offered
  // Of each class that there is.
  absl::btree_map<BubbleClass, ClassFigures> classes = {};
  // At most so much longer the main job takes, as far as overruns go: those of the worst job on
  // each stage, in every iteration, none at the same time as another; from the beginning.
  double slowdown_max = 0;

  int64_t jobs_submitted = 0;  // from the beginning
  int64_t jobs_completed = 0;  // from the beginning
  // Of those completed, from submission to end.
  double completion_mean_s = 0;
  double completion_p50_s = 0;
  double completion_p95_s = 0;
  // kCompletionQuantiles of them; empty while no job is done.
  std::vector<double> completion_quantiles_s = {};
  double last_end_s = 0;  // from the beginning; the makespan, if all were there at the start
  int64_t events = 0;     // messages to schedulerd and actions of it, from the beginning
  // What a few devices did, from the beginning.
  std::vector<Lane> lanes = {};
};

// Called once per simulated hour, with the hours so far.
using OnProgress = std::function<void(int64_t hours)>;

// InvalidArgument or ResourceExhausted, in one line, if the run makes no sense.
absl::StatusOr<ClusterResult> RunCluster(const ClusterRun& run, const Policy& policy,
                                         const OnProgress& on_progress = nullptr);

}  // namespace pipefill::simulator

#endif  // SIMULATOR_CLUSTER_SIM_CLUSTER_H_
