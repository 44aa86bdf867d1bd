// The trace of a scenario, as input of a run.
//
// Pure but for what reads the trace.
#ifndef SIMULATOR_CLUSTER_TRACE_SCENARIO_H_
#define SIMULATOR_CLUSTER_TRACE_SCENARIO_H_

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/scenario.pb.h"
#include "simulator/cluster/sim_cluster.h"
#include "simulator/traces/read_trace.h"

namespace pipefill::simulator {

// Reads what the specification names; CheckTraceSpec has accepted it.
using TraceOf = std::function<absl::StatusOr<std::shared_ptr<const Trace>>(const TraceSpec&)>;

// Adds the trace's jobs to the workload of `run`, whose classes, horizon and seed stand.
// InvalidArgument, in one line that names the field: "workload.trace.begin: ..."; what `trace_of`
// says.
absl::Status AddTrace(const v1::TraceScenario& from, const TraceOf& trace_of, ClusterRun& run);

}  // namespace pipefill::simulator

#endif  // SIMULATOR_CLUSTER_TRACE_SCENARIO_H_
