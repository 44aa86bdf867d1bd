#include "simulator/cluster/trace_scenario.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/quantity.h"
#include "common/status.h"
#include "simulator/cluster/trace_arrivals.h"

namespace pipefill::simulator {
namespace {

constexpr char kContext[] = "workload.trace";

TraceSpec SpecOf(const v1::TraceScenario& from) {
  const v1::TraceColumnsScenario& columns = from.columns();
  return {.format = from.format(),
          .file = from.file(),
          .job_file = from.job_file(),
          .instance_file = from.instance_file(),
          .columns = {.submit = columns.submit(),
                      .start = columns.start(),
                      .end = columns.end(),
                      .duration = columns.duration(),
                      .gpus = columns.gpus(),
                      .instances = columns.instances(),
                      .user = columns.user(),
                      .status = columns.status()},
          .per_gpu = from.per_gpu(),
          .time_zone = from.time_zone()};
}

absl::StatusOr<TraceSize> SizeOf(const v1::TraceSizeScenario& from,
                                 const std::vector<JobClass>& classes) {
  TraceSize size;
  if (!(from.device_hours_max() >= 0)) {
    return absl::InvalidArgumentError("device_hours_max must not be negative");
  }
  if (from.device_hours_max() > 0) size.device_hours_max = from.device_hours_max();
  for (const std::string& name : from.classes()) {
    const auto found = std::find_if(classes.begin(), classes.end(),
                                    [&](const JobClass& one) { return one.name == name; });
    if (found == classes.end()) {
      return absl::InvalidArgumentError(absl::StrCat("there is no job class \"", name, "\""));
    }
    size.classes.push_back(static_cast<size_t>(found - classes.begin()));
  }
  if (size.classes.empty()) return absl::InvalidArgumentError("classes: name one at least");
  return size;
}

absl::Status CheckNumbers(const v1::TraceScenario& from) {
  const std::pair<const char*, double> numbers[] = {{"gpus_max", from.gpus_max()},
                                                    {"device_hours_min", from.device_hours_min()},
                                                    {"device_hours_max", from.device_hours_max()},
                                                    {"speed_up", from.speed_up()}};
  for (const auto& [name, number] : numbers) {
    if (!(number >= 0 && number <= 1e9)) {
      return absl::InvalidArgumentError(absl::StrCat(name, ": must be 0 (the default) to 1e9"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<TraceRules> RulesOf(const v1::TraceScenario& from, const ClusterRun& run) {
  RETURN_IF_ERROR(CheckNumbers(from));
  TraceRules rules{.statuses = {from.statuses().begin(), from.statuses().end()},
                   .device_hours_min = from.device_hours_min(),
                   .horizon = run.horizon,
                   .seed = run.seed};
  if (from.gpus_max() > 0) rules.gpus_max = from.gpus_max();
  if (from.device_hours_max() > 0) rules.device_hours_max = from.device_hours_max();
  if (from.speed_up() > 0) rules.speed_up = from.speed_up();
  if (!from.begin().empty()) {
    const absl::StatusOr<absl::Duration> begin = ParsePositiveDuration(from.begin());
    if (!begin.ok()) return WithContext(begin.status(), "begin");
    rules.begin = *begin;
  }
  const std::vector<JobClass>& classes = run.workload.classes;
  for (int i = 0; i < from.sizes_size(); ++i) {
    absl::StatusOr<TraceSize> size = SizeOf(from.sizes(i), classes);
    if (!size.ok()) return WithContext(size.status(), absl::StrCat("sizes[", i, "]"));
    rules.sizes.push_back(*std::move(size));
  }
  if (rules.sizes.empty()) {
    TraceSize all;
    all.classes.resize(classes.size());
    std::iota(all.classes.begin(), all.classes.end(), size_t{0});
    rules.sizes.push_back(std::move(all));
  }
  return rules;
}

}  // namespace

absl::Status AddTrace(const v1::TraceScenario& from, const TraceOf& trace_of, ClusterRun& run) {
  RETURN_IF_ERROR(CheckWorkload(run.workload));
  const TraceSpec spec = SpecOf(from);
  RETURN_IF_ERROR(WithContext(CheckTraceSpec(spec), kContext));
  const absl::StatusOr<TraceRules> rules = RulesOf(from, run);
  RETURN_IF_ERROR(WithContext(rules.status(), kContext));
  if (trace_of == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat(kContext, ": no traces are read here"));
  }
  ASSIGN_OR_RETURN(const std::shared_ptr<const Trace> trace, trace_of(spec));
  return AddTraceArrivals(*trace, *rules, run.workload);
}

}  // namespace pipefill::simulator
