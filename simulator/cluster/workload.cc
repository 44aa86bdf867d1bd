#include "simulator/cluster/workload.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <random>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "planner/alone_rate.h"

namespace pipefill::simulator {
namespace {

absl::Status CheckClass(const JobClass& job_class) {
  const auto refuse = [&](absl::string_view text) {
    return absl::InvalidArgumentError(absl::StrCat("job class ", job_class.name, ": ", text));
  };
  if (absl::Status status = CheckProfile(job_class.profile); !status.ok()) {
    return refuse(status.message());
  }
  if (job_class.profile.configurations.empty()) return refuse("its profile has no configuration");
  if (job_class.memory_bytes <= 0) return refuse("memory_bytes must be above 0");
  if (!(job_class.weight > 0)) return refuse("weight must be above 0");
  if (!(job_class.device_hours > 0)) return refuse("device_hours must be above 0");
  if (!(job_class.spread >= 0)) return refuse("spread must not be negative");
  if (!(job_class.slowness >= 1 && job_class.slowness <= 1000)) {
    return refuse("slowness must be 1 to 1000");
  }
  if (!(job_class.flops_share > 0)) return refuse("flops_share must be above 0");
  return absl::OkStatus();
}

// Draws which class, and how much a job of it has to do.
class JobDraw {
 public:
  JobDraw(const Workload& workload, uint64_t seed) : classes_(workload.classes), random_(seed) {
    std::vector<double> weights;
    for (const JobClass& job_class : classes_) weights.push_back(job_class.weight);
    which_ = std::discrete_distribution<size_t>(weights.begin(), weights.end());
  }

  Arrival Next(absl::Duration at) {
    const size_t index = which_(random_);
    const JobClass& job_class = classes_[index];
    const double hours = job_class.device_hours * std::exp(job_class.spread * normal_(random_));
    return {.at = at, .job_class = index, .samples = SamplesFor(job_class, hours)};
  }

  absl::Duration Gap(double jobs_per_hour) {
    return absl::Hours(std::exponential_distribution<double>(jobs_per_hour)(random_));
  }

 private:
  const std::vector<JobClass>& classes_;
  std::mt19937_64 random_;
  std::discrete_distribution<size_t> which_;
  std::normal_distribution<double> normal_;
};

}  // namespace

absl::Status CheckWorkload(const Workload& workload) {
  if (workload.classes.empty()) return absl::InvalidArgumentError("there is no job class");
  if (workload.jobs_at_start < 0 || !(workload.jobs_per_hour >= 0)) {
    return absl::InvalidArgumentError("jobs_at_start and jobs_per_hour must not be negative");
  }
  absl::flat_hash_set<absl::string_view> names;
  for (const JobClass& job_class : workload.classes) {
    if (absl::Status status = CheckClass(job_class); !status.ok()) return status;
    if (!names.insert(job_class.name).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("job class \"", job_class.name, "\" is there twice"));
    }
  }
  return absl::OkStatus();
}

int64_t SamplesFor(const JobClass& job_class, double hours) {
  const double rate = AloneRate(job_class.profile.configurations.front());
  return static_cast<int64_t>(
      std::clamp(std::round(hours * 3600 * rate), 1.0, static_cast<double>(kSamplesMax)));
}

std::vector<Arrival> DrawArrivals(const Workload& workload, absl::Duration horizon, uint64_t seed) {
  JobDraw draw(workload, seed);
  std::vector<Arrival> arrivals;
  for (int64_t i = 0; i < workload.jobs_at_start; ++i) {
    arrivals.push_back(draw.Next(absl::ZeroDuration()));
  }
  absl::Duration at =
      workload.jobs_per_hour > 0 ? draw.Gap(workload.jobs_per_hour) : absl::InfiniteDuration();
  while (at <= horizon) {
    arrivals.push_back(draw.Next(at));
    at += draw.Gap(workload.jobs_per_hour);
  }
  const auto is_earlier = [](const Arrival& a, const Arrival& b) { return a.at < b.at; };
  std::vector<Arrival> all;
  std::merge(arrivals.begin(), arrivals.end(), workload.given.begin(), workload.given.end(),
             std::back_inserter(all), is_earlier);
  while (!all.empty() && all.back().at > horizon) all.pop_back();
  return all;
}

}  // namespace pipefill::simulator
