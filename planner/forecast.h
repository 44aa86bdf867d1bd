// What to expect of a fill job on a device: how fast it will go, in which configuration, and when
// it will be done, with an interval.
//
//   profile, calendar --PlanExecution--> configuration --three lengths of bubbles--> rate, interval
//
// rate is the mean over short, median and long bubbles (weights 0.3, 0.4, 0.3, as fit 10 %, 50 %
// and 90 % quantiles). The interval is that of a device whose bubbles all are short and nodes slow,
// or all are long and nodes fast: it covers a drift of the machine, not the noise of a mean.
//
// Pure.
#ifndef PLANNER_FORECAST_H_
#define PLANNER_FORECAST_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planner/calendar.h"
#include "planner/profile.h"

namespace pipefill {

// low <= mid <= high.
struct Interval {
  double low = 0;
  double mid = 0;
  double high = 0;
};

struct ForecastOptions {
  // The job's own cap: no window gives it more.
  int64_t memory_max_bytes = INT64_MAX;
  // Those that are resident beside it; each outlives the call.
  std::vector<const Configuration*> neighbours = {};
};

struct RateForecast {
  size_t configuration = 0;  // index into the profile
  Interval samples_per_s;
};

// nullopt, with the reason in `why` (if not null), when no configuration can run. REQUIRES:
// CheckProfile accepts the profile, and it has a configuration; iteration_ns > 0.
std::optional<RateForecast> ForecastRate(const FillProfile& profile, const Calendar& calendar,
                                         const ForecastOptions& options,
                                         std::string* why = nullptr);

// The same for one configuration that is chosen already; nullopt if it cannot run.
std::optional<Interval> ForecastConfiguration(const Configuration& configuration,
                                              const Calendar& calendar,
                                              const ForecastOptions& options);

// Seconds until `samples_left` are done: low is the soonest. Infinite where the rate is 0.
Interval SecondsLeft(double samples_left, const Interval& samples_per_s);

}  // namespace pipefill

#endif  // PLANNER_FORECAST_H_
