#include "cli/sim/sim_run.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/status.h"
#include "planner/policy.h"
#include "simulator/cluster/scenario.h"
#include "simulator/cluster/set_field.h"

namespace pipefill {
namespace {

constexpr char kDefaultPolicy[] = "fifo";

absl::StatusOr<SimSweep> ParseSweep(const std::string& text) {
  const std::vector<std::string> parts = absl::StrSplit(text, absl::MaxSplits('=', 1));
  if (parts.size() != 2 || parts[0].empty() || parts[1].empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--sweep ", text, ": must be FIELD=A,B,C, such as policy=fifo,sjf"));
  }
  SimSweep sweep{.fields = absl::StrSplit(parts[0], '+'), .values = {}};
  for (const absl::string_view value : absl::StrSplit(parts[1], ',')) {
    sweep.values.push_back(absl::StrSplit(value, '+'));
    if (sweep.values.back().size() != sweep.fields.size()) {
      return absl::InvalidArgumentError(absl::StrCat("--sweep ", text, ": ", value, " has ",
                                                     sweep.values.back().size(), " values for ",
                                                     sweep.fields.size(), " fields"));
    }
  }
  return sweep;
}

// Each of `runs` once per value.
absl::StatusOr<std::vector<SimRun>> Multiply(const std::vector<SimRun>& runs,
                                             const SimSweep& sweep) {
  std::vector<SimRun> all;
  for (const SimRun& run : runs) {
    for (const std::vector<std::string>& values : sweep.values) {
      SimRun one = run;
      for (size_t i = 0; i < values.size(); ++i) {
        RETURN_IF_ERROR(
            simulator::SetField(absl::StrCat(sweep.fields[i], "=", values[i]), &one.scenario));
        one.settings.emplace_back(sweep.fields[i], values[i]);
      }
      all.push_back(std::move(one));
      if (all.size() > kSimRunsMax) {
        return absl::InvalidArgumentError(
            absl::StrCat("--sweep: more than ", kSimRunsMax, " runs"));
      }
    }
  }
  return all;
}

absl::StatusOr<SimOutcome> RunOne(const SimRun& run, const SimFiles& files, const Clock& clock,
                                  const std::function<void(int64_t, int64_t)>& on_hour) {
  ASSIGN_OR_RETURN(const simulator::ClusterRun cluster,
                   simulator::RunOf(run.scenario, files.trace));
  const std::string policy_name =
      run.scenario.policy().empty() ? kDefaultPolicy : run.scenario.policy();
  ASSIGN_OR_RETURN(const std::unique_ptr<Policy> policy,
                   MakePolicyByName(policy_name, files.policy));
  const int64_t hours = absl::ToInt64Hours(cluster.horizon);
  const Instant start = clock.Now();
  SimOutcome outcome{.settings = run.settings,
                     .policy = policy_name,
                     .seed = cluster.seed,
                     .training = cluster.training,
                     .classes = cluster.workload.classes,
                     .horizon = cluster.horizon,
                     .result = {},
                     .trace_rows = cluster.workload.trace_rows};
  ASSIGN_OR_RETURN(outcome.result, simulator::RunCluster(cluster, *policy, [&](int64_t hour) {
                     on_hour(hour, hours);
                   }));
  outcome.wall_s = absl::ToDoubleSeconds(clock.Now() - start);
  return outcome;
}

}  // namespace

absl::StatusOr<std::vector<SimSweep>> ParseSweeps(const std::vector<std::string>& texts) {
  std::vector<SimSweep> sweeps;
  for (const std::string& text : texts) {
    ASSIGN_OR_RETURN(SimSweep sweep, ParseSweep(text));
    sweeps.push_back(std::move(sweep));
  }
  return sweeps;
}

absl::StatusOr<std::vector<SimRun>> ExpandRuns(const v1::Scenario& scenario,
                                               const std::vector<std::string>& sets,
                                               const std::vector<SimSweep>& sweeps) {
  std::vector<SimRun> runs = {{.settings = {}, .scenario = scenario}};
  for (const std::string& set : sets) {
    RETURN_IF_ERROR(WithContext(simulator::SetField(set, &runs[0].scenario), "--set"));
  }
  for (const SimSweep& sweep : sweeps) {
    ASSIGN_OR_RETURN(runs, Multiply(runs, sweep));
  }
  return runs;
}

absl::StatusOr<std::vector<SimOutcome>> RunAll(const std::vector<SimRun>& runs,
                                               const SimFiles& files, const Clock& clock,
                                               const SimProgress& on_progress) {
  std::vector<SimOutcome> outcomes;
  for (size_t i = 0; i < runs.size(); ++i) {
    absl::StatusOr<SimOutcome> outcome =
        RunOne(runs[i], files, clock, [&](int64_t hour, int64_t of_hours) {
          if (on_progress != nullptr) on_progress(i + 1, runs.size(), hour, of_hours);
        });
    if (!outcome.ok()) {
      const std::string settings = absl::StrJoin(runs[i].settings, " ", absl::PairFormatter("="));
      return settings.empty() ? outcome.status() : WithContext(outcome.status(), settings);
    }
    if (i >= kSimRunsDrawn) outcome->result.lanes.clear();
    outcomes.push_back(*std::move(outcome));
  }
  return outcomes;
}

}  // namespace pipefill
