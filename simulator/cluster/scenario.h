// A scenario as it is written in a file, as input of a run.
//
// Pure but for what reads a trace.
#ifndef SIMULATOR_CLUSTER_SCENARIO_H_
#define SIMULATOR_CLUSTER_SCENARIO_H_

#include <string>

#include "absl/status/statusor.h"
#include "proto/scenario.pb.h"
#include "simulator/cluster/sim_cluster.h"
#include "simulator/cluster/trace_scenario.h"

namespace pipefill::simulator {

// InvalidArgument, in one line that names the field: "training.forward: ...". What `trace_of` says,
// if the scenario has a trace; FailedPrecondition if nothing reads it.
absl::StatusOr<ClusterRun> RunOf(const v1::Scenario& scenario, const TraceOf& trace_of = nullptr);

}  // namespace pipefill::simulator

#endif  // SIMULATOR_CLUSTER_SCENARIO_H_
