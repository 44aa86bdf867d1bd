// What a fill job would make of the bubbles of a plan: the forecast that schedulerd makes
// (planner/forecast.h), for each device as if the job ran there.
//
// Pure.
#ifndef CLI_PLAN_FILL_FORECAST_H_
#define CLI_PLAN_FILL_FORECAST_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/plan/idle_plan.h"
#include "planner/forecast.h"
#include "planner/profile.h"

namespace pipefill {

// Iterations that are filled: all but one hold-out in 64, as agents have it from their 1,024th on.
inline constexpr double kPlannedFilledShare = 63.0 / 64;

struct FillQuestion {
  std::string job;  // for people
  FillProfile profile;
  int64_t memory_max_bytes = INT64_MAX;  // the job's cap
};

struct DeviceForecast {
  // Absent: it cannot run there, and `why` says why.
  std::optional<RateForecast> rate;
  std::string why;
};

struct FillForecast {
  std::vector<DeviceForecast> devices;  // one per device of the plan
  // The device with the highest rate; absent if it can run on none.
  std::optional<size_t> best;
  // On the best device; absent if the job does not say how much it has to do.
  std::optional<Interval> seconds_left;
  // Sum over devices with a job each, and what it is worth in devices of their own.
  double total_samples_per_s = 0;
  double worth_devices = 0;
};

// InvalidArgument if the profile has no configuration, or one that the planner cannot work with.
absl::StatusOr<FillForecast> ForecastFill(const FillQuestion& question, const IdlePlan& plan);

}  // namespace pipefill

#endif  // CLI_PLAN_FILL_FORECAST_H_
