#include "scheduler/core/work_left.h"

#include <algorithm>
#include <limits>

namespace pipefill::scheduler {
namespace {

double SecondsPerSample(const Configuration& configuration) {
  return configuration.unit_mean_ns() * static_cast<double>(configuration.units_per_pass()) /
         static_cast<double>(configuration.samples_per_pass) * 1e-9;
}

double SamplesDone(const Job& job) {
  if (job.attempts.empty()) return 0;
  const Attempt& last = job.attempts.back();
  const Configuration* configuration = job.profile.profile->Find(last.configuration);
  if (configuration == nullptr) return 0;
  return static_cast<double>(last.progress.units) *
         static_cast<double>(configuration->samples_per_pass) /
         static_cast<double>(configuration->units_per_pass());
}

}  // namespace

std::optional<double> SecondsLeft(const Job& job) {
  const FillProfile& profile = *job.profile.profile;
  if (profile.samples_total == 0 || profile.configurations.empty()) return std::nullopt;
  double least = std::numeric_limits<double>::infinity();
  for (const Configuration& configuration : profile.configurations) {
    least = std::min(least, SecondsPerSample(configuration));
  }
  const double left = static_cast<double>(profile.samples_total) - SamplesDone(job);
  return std::max(0.0, left) * least;
}

}  // namespace pipefill::scheduler
