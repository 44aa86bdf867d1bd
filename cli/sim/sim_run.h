// The runs of one `pipefill sim`: a scenario with changes, once for each combination of the values
// that are swept over.
//
// Pure but for RunAll, which takes its time and says how far it is.
#ifndef CLI_SIM_SIM_RUN_H_
#define CLI_SIM_SIM_RUN_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/clock.h"
#include "planner/policies/by_name.h"
#include "proto/scenario.pb.h"
#include "simulator/cluster/sim_cluster.h"
#include "simulator/cluster/trace_scenario.h"

namespace pipefill {

// Runs of one command.
inline constexpr size_t kSimRunsMax = 1000;
// Runs that keep the jobs of a few devices, the first ones: what is drawn of each run by itself.
inline constexpr size_t kSimRunsDrawn = 4;

// A field and the value it has in one run.
using SimSetting = std::pair<std::string, std::string>;

// Fields that change together, and what they are in turn.
struct SimSweep {
  std::vector<std::string> fields;
  std::vector<std::vector<std::string>> values;  // each with one entry per field
};

struct SimRun {
  std::vector<SimSetting> settings;  // of the fields swept over, in their order
  v1::Scenario scenario;
};

struct SimOutcome {
  std::vector<SimSetting> settings;
  std::string policy;
  uint64_t seed = 1;
  // Of the run: what was simulated, for how long.
  simulator::TrainingRun training;
  std::vector<simulator::JobClass> classes;
  absl::Duration horizon;
  simulator::ClusterResult result;
  std::vector<simulator::TraceRows> trace_rows;  // empty without a trace
  double wall_s = 0;                             // that the run took here
};

// What scenarios name and do not hold.
struct SimFiles {
  ReadText policy;
  simulator::TraceOf trace;
};

// Each as "workload.jobs_per_hour=10,100". A sweep over several fields at once has them joined by
// '+': "training.pipeline+training.replicas=16x8@gpipe+64,16x16@gpipe+32". InvalidArgument, in one
// line.
absl::StatusOr<std::vector<SimSweep>> ParseSweeps(const std::vector<std::string>& texts);

// Applies `sets` ("training.replicas=8"), then makes one run per combination of the values in
// `sweeps`; the last sweep changes fastest. InvalidArgument, in one line.
absl::StatusOr<std::vector<SimRun>> ExpandRuns(const v1::Scenario& scenario,
                                               const std::vector<std::string>& sets,
                                               const std::vector<SimSweep>& sweeps);

// Called now and then: run `run` of `runs` has simulated so many of its hours.
using SimProgress = std::function<void(size_t run, size_t runs, int64_t hours, int64_t of_hours)>;

// The first error ends it, with the run's settings.
absl::StatusOr<std::vector<SimOutcome>> RunAll(const std::vector<SimRun>& runs,
                                               const SimFiles& files, const Clock& clock,
                                               const SimProgress& on_progress);

}  // namespace pipefill

#endif  // CLI_SIM_SIM_RUN_H_
