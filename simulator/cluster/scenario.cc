#include "simulator/cluster/scenario.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/quantity.h"
#include "common/status.h"

namespace pipefill::simulator {
namespace {

absl::StatusOr<int64_t> Nanoseconds(absl::string_view field, const std::string& text) {
  const absl::StatusOr<absl::Duration> duration = ParsePositiveDuration(text);
  if (!duration.ok()) return WithContext(duration.status(), std::string(field));
  return absl::ToInt64Nanoseconds(*duration);
}

absl::StatusOr<int64_t> NanosecondsOr(absl::string_view field, const std::string& text,
                                      int64_t otherwise) {
  return text.empty() ? absl::StatusOr<int64_t>(otherwise) : Nanoseconds(field, text);
}

absl::StatusOr<int64_t> BytesOr(absl::string_view field, const std::string& text,
                                int64_t otherwise) {
  if (text.empty()) return otherwise;
  const absl::StatusOr<int64_t> bytes = ParseBytes(text);
  if (!bytes.ok()) return WithContext(bytes.status(), std::string(field));
  return *bytes;
}

absl::StatusOr<PipelineModel> PipelineOf(const v1::TrainingScenario& from, uint64_t seed) {
  PipelineModel model;
  absl::StatusOr<PipelineShape> shape = ParsePipeline(from.pipeline(), 0);
  if (!shape.ok()) return WithContext(shape.status(), "training.pipeline");
  model.shape = *shape;
  ASSIGN_OR_RETURN(const int64_t forward_ns, Nanoseconds("training.forward", from.forward()));
  ASSIGN_OR_RETURN(const int64_t backward_ns,
                   NanosecondsOr("training.backward", from.backward(), 2 * forward_ns));
  ASSIGN_OR_RETURN(model.times.transfer_ns, NanosecondsOr("training.transfer", from.transfer(), 0));
  const int chunks = model.shape.chunks;
  const ChunkTimes times{.forward_ns = forward_ns / chunks,
                         .backward_input_ns = backward_ns / chunks / 2,
                         .backward_weight_ns = backward_ns / chunks - backward_ns / chunks / 2};
  StageTimes stage;
  stage.chunks.assign(static_cast<size_t>(chunks), times);
  model.times.stages.assign(static_cast<size_t>(model.shape.stages), stage);
  model.times.jitter = {.share = from.jitter(), .seed = seed};
  return model;
}

FillRule RuleOf(const v1::FillRuleScenario& from) {
  FillRule rule{.static_share = from.static_share(), .fills_scattered = !from.skips_scattered()};
  if (from.overrun_ratio() != 0) rule.overrun_ratio = from.overrun_ratio();
  if (from.hold_out_one_in() > 0) rule.filled_share = 1 - 1.0 / from.hold_out_one_in();
  return rule;
}

absl::StatusOr<TrainingRun> TrainingOf(const v1::TrainingScenario& from, uint64_t seed) {
  TrainingRun run;
  ASSIGN_OR_RETURN(run.pipeline, PipelineOf(from, seed));
  if (from.replicas() != 0) run.replicas = from.replicas();
  if (from.devices_per_stage() != 0) run.devices_per_stage = from.devices_per_stage();
  if (from.memory_free().empty()) {
    return absl::InvalidArgumentError("training.memory_free: must be given, such as \"4.5GiB\"");
  }
  ASSIGN_OR_RETURN(run.memory_free_bytes, BytesOr("training.memory_free", from.memory_free(), 0));
  if (from.fill().hold_out_one_in() < 0 || from.fill().hold_out_one_in() == 1) {
    return absl::InvalidArgumentError("training.fill.hold_out_one_in: must be 0 or at least 2");
  }
  run.rule = RuleOf(from.fill());
  return run;
}

// Of a job class, or of a way to run it: they name these fields alike.
template <typename Source>
absl::StatusOr<Configuration> ConfigurationOf(const Source& from) {
  Configuration configuration;
  ProfileNode unit;
  ASSIGN_OR_RETURN(unit.time_ns, Nanoseconds("unit", from.unit()));
  ASSIGN_OR_RETURN(configuration.resident_bytes, BytesOr("resident", from.resident(), 0));
  ASSIGN_OR_RETURN(unit.memory_bytes, BytesOr("unit_memory", from.unit_memory(), 0));
  configuration.chain = {unit};
  return configuration;
}

absl::StatusOr<std::vector<Configuration>> ConfigurationsOf(const v1::JobClassScenario& from) {
  std::vector<Configuration> configurations;
  if (from.configurations().empty()) {
    ASSIGN_OR_RETURN(Configuration only, ConfigurationOf(from));
    only.name = "default";
    configurations.push_back(std::move(only));
    return configurations;
  }
  if (!from.unit().empty() || !from.resident().empty() || !from.unit_memory().empty()) {
    return absl::InvalidArgumentError(
        "unit, resident and unit_memory belong into its configurations, not beside them");
  }
  for (const v1::ConfigurationScenario& way : from.configurations()) {
    absl::StatusOr<Configuration> configuration = ConfigurationOf(way);
    if (!configuration.ok()) {
      return WithContext(configuration.status(), absl::StrCat("configuration ", way.name()));
    }
    configuration->name = way.name();
    if (way.samples() != 0) configuration->samples_per_pass = way.samples();
    configurations.push_back(*std::move(configuration));
  }
  return configurations;
}

// What a user would ask for: as much as the job can use and devices have, and enough to run at all.
int64_t MemoryFor(const std::vector<Configuration>& configurations, int64_t memory_free_bytes) {
  int64_t least_bytes = INT64_MAX;
  int64_t most_bytes = 0;
  for (const Configuration& configuration : configurations) {
    const int64_t bytes = configuration.resident_bytes + configuration.chain.front().memory_bytes;
    least_bytes = std::min(least_bytes, bytes);
    most_bytes = std::max(most_bytes, bytes);
  }
  return std::max(least_bytes, std::min(most_bytes, memory_free_bytes));
}

absl::StatusOr<JobClass> ClassOf(const v1::JobClassScenario& from, int64_t memory_free_bytes) {
  JobClass job_class;
  job_class.name = from.name();
  ASSIGN_OR_RETURN(job_class.profile.configurations, ConfigurationsOf(from));
  job_class.memory_bytes = MemoryFor(job_class.profile.configurations, memory_free_bytes);
  if (from.weight() != 0) job_class.weight = from.weight();
  if (from.device_hours() != 0) job_class.device_hours = from.device_hours();
  if (from.slowness() != 0) job_class.slowness = from.slowness();
  if (from.flops_share() != 0) job_class.flops_share = from.flops_share();
  job_class.spread = from.spread();
  return job_class;
}

}  // namespace

absl::StatusOr<ClusterRun> RunOf(const v1::Scenario& scenario, const TraceOf& trace_of) {
  ClusterRun run;
  if (scenario.seed() != 0) run.seed = scenario.seed();
  ASSIGN_OR_RETURN(run.training, TrainingOf(scenario.training(), run.seed));
  run.workload.jobs_at_start = scenario.workload().jobs_at_start();
  run.workload.jobs_per_hour = scenario.workload().jobs_per_hour();
  for (const v1::JobClassScenario& from : scenario.workload().classes()) {
    absl::StatusOr<JobClass> job_class = ClassOf(from, run.training.memory_free_bytes);
    if (!job_class.ok()) {
      return WithContext(job_class.status(), absl::StrCat("job class ", from.name()));
    }
    run.workload.classes.push_back(*std::move(job_class));
  }
  ASSIGN_OR_RETURN(const int64_t horizon_ns, NanosecondsOr("horizon", scenario.horizon(),
                                                           absl::ToInt64Nanoseconds(run.horizon)));
  ASSIGN_OR_RETURN(const int64_t warm_up_ns, NanosecondsOr("warm_up", scenario.warm_up(), 0));
  run.horizon = absl::Nanoseconds(horizon_ns);
  run.warm_up = absl::Nanoseconds(warm_up_ns);
  if (scenario.workload().has_trace()) {
    RETURN_IF_ERROR(AddTrace(scenario.workload().trace(), trace_of, run));
  }
  return run;
}

}  // namespace pipefill::simulator
