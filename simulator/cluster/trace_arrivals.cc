#include "simulator/cluster/trace_arrivals.h"

#include <algorithm>
#include <optional>
#include <random>

#include "absl/strings/str_cat.h"

namespace pipefill::simulator {
namespace {

class JobChoice {
 public:
  JobChoice(const Trace& trace, const TraceRules& rules, const std::vector<JobClass>& classes)
      : trace_(trace), rules_(rules), classes_(classes), random_(rules.seed) {
    for (const TraceSize& size : rules.sizes) {
      std::vector<double> weights;
      for (const size_t index : size.classes) weights.push_back(classes[index].weight);
      which_.emplace_back(weights.begin(), weights.end());
    }
    for (const std::string& name : trace.names) {
      const auto& statuses = rules.statuses;
      is_taken_.push_back(statuses.empty() ||
                          std::find(statuses.begin(), statuses.end(), name) != statuses.end());
    }
  }

  // Fills in `arrival`, or says why not.
  std::optional<SkipReason> Take(const TraceJob& job, Arrival& arrival) {
    if (!is_taken_[job.status]) return SkipReason::kStatus;
    if (job.gpus > rules_.gpus_max) return SkipReason::kTooManyGpus;
    const double hours = absl::FDivDuration(job.device_time, absl::Hours(1));
    if (hours < rules_.device_hours_min) return SkipReason::kTooShort;
    const auto size =
        std::find_if(rules_.sizes.begin(), rules_.sizes.end(),
                     [&](const TraceSize& one) { return hours <= one.device_hours_max; });
    if (hours > rules_.device_hours_max || size == rules_.sizes.end()) return SkipReason::kTooLong;
    const absl::Duration since_begin = job.submitted - trace_.begin - rules_.begin;
    arrival.at = since_begin / rules_.speed_up;
    if (since_begin < absl::ZeroDuration() || arrival.at > rules_.horizon) {
      return SkipReason::kOutside;
    }
    auto& which = which_[static_cast<size_t>(size - rules_.sizes.begin())];
    arrival.job_class = size->classes[which(random_)];
    arrival.samples = SamplesFor(classes_[arrival.job_class], hours);
    arrival.tenant = trace_.names[job.user];
    return std::nullopt;
  }

 private:
  const Trace& trace_;
  const TraceRules& rules_;
  const std::vector<JobClass>& classes_;
  std::mt19937_64 random_;
  std::vector<std::discrete_distribution<size_t>> which_;  // of the classes of each size
  std::vector<bool> is_taken_;                             // by status
};

}  // namespace

absl::Status AddTraceArrivals(const Trace& trace, const TraceRules& rules, Workload& workload) {
  JobChoice choice(trace, rules, workload.classes);
  TraceRows rows = trace.rows;
  workload.given.clear();
  for (const TraceJob& job : trace.jobs) {
    Arrival arrival;
    const std::optional<SkipReason> skipped = choice.Take(job, arrival);
    if (skipped.has_value()) {
      rows.Skip(*skipped, 0);
      continue;
    }
    if (workload.given.size() == kTraceArrivalsMax) {
      return absl::ResourceExhaustedError(
          absl::StrCat(rows.source, ": more than ", kTraceArrivalsMax,
                       " of its jobs arrive; set horizon or device_hours_max lower"));
    }
    workload.given.push_back(std::move(arrival));
  }
  if (workload.given.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(RowsText(rows), "; set workload.trace so that some are left"));
  }
  workload.trace_rows = {std::move(rows)};
  workload.trace_rows.insert(workload.trace_rows.end(), trace.joined.begin(), trace.joined.end());
  return absl::OkStatus();
}

}  // namespace pipefill::simulator
