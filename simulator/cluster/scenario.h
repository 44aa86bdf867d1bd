// A scenario as it is written in a file, as input of a run.
//
// Pure.
#ifndef SIMULATOR_CLUSTER_SCENARIO_H_
#define SIMULATOR_CLUSTER_SCENARIO_H_

#include <string>

#include "absl/status/statusor.h"
#include "proto/scenario.pb.h"
#include "simulator/cluster/sim_cluster.h"

namespace pipefill::simulator {

// InvalidArgument, in one line that names the field: "training.forward: ...".
absl::StatusOr<ClusterRun> RunOf(const v1::Scenario& scenario);

}  // namespace pipefill::simulator

#endif  // SIMULATOR_CLUSTER_SCENARIO_H_
