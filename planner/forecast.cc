#include "planner/forecast.h"

#include <algorithm>
#include <limits>

#include "common/check.h"
#include "planner/chain_packer.h"
#include "planner/execution_plan.h"
#include "planner/turns.h"

namespace pipefill {
namespace {

// Of the three lengths in the mean; Swanson's rule.
constexpr double kWeightShort = 0.3;
constexpr double kWeightMedian = 0.4;
constexpr double kWeightLong = 0.3;

// Enough for a percent: forecasts are made by the thousand.
constexpr int64_t kStepsMax = 50'000;
constexpr int64_t kSharedStepsMax = 5'000;

// The calendar as one job sees it: less what others hold, and no more than its cap.
Calendar WithMemory(Calendar calendar, int64_t taken_bytes, int64_t memory_max_bytes) {
  for (CalendarBubble& bubble : calendar.bubbles) {
    const int64_t free_bytes = std::max<int64_t>(0, bubble.memory_free_bytes - taken_bytes);
    bubble.memory_free_bytes = std::min(free_bytes, memory_max_bytes);
  }
  return calendar;
}

int64_t ResidentBytes(const std::vector<const Configuration*>& configurations) {
  int64_t bytes = 0;
  for (const Configuration* configuration : configurations) bytes += configuration->resident_bytes;
  return bytes;
}

Calendar CalendarFor(const Calendar& calendar, const ForecastOptions& options) {
  return WithMemory(calendar, ResidentBytes(options.neighbours), options.memory_max_bytes);
}

// Thread-compatible.
class Rates {
 public:
  Rates(const Configuration& configuration, const Calendar& calendar,
        const ForecastOptions& options)
      : configuration_(configuration),
        calendar_(calendar),
        own_calendar_(CalendarFor(calendar, options)),
        options_(options) {}

  double At(BubbleLength length, NodeTime time) const {
    const Cycle cycle = CycleOf(own_calendar_, length, TypicalUnitNs(configuration_));
    if (options_.neighbours.empty()) {
      return PlanConfiguration(configuration_, cycle, {.time = time, .steps_max = kStepsMax})
          .samples_per_s;
    }
    std::vector<Resident> residents = {{.configuration = &configuration_, .cycle = cycle}};
    const int64_t all_bytes = configuration_.resident_bytes + ResidentBytes(options_.neighbours);
    for (const Configuration* neighbour : options_.neighbours) {
      const Calendar calendar =
          WithMemory(calendar_, all_bytes - neighbour->resident_bytes, INT64_MAX);
      residents.push_back({.configuration = neighbour,
                           .cycle = CycleOf(calendar, length, TypicalUnitNs(*neighbour))});
    }
    return ShareCycle(residents, {.time = time, .steps_max = kSharedStepsMax})[0].samples_per_s;
  }

 private:
  const Configuration& configuration_;
  const Calendar& calendar_;
  const Calendar own_calendar_;
  const ForecastOptions& options_;
};

}  // namespace

std::optional<Interval> ForecastConfiguration(const Configuration& configuration,
                                              const Calendar& calendar,
                                              const ForecastOptions& options) {
  const Rates rates(configuration, calendar, options);
  const double median = rates.At(BubbleLength::kMedian, NodeTime::kMean);
  if (median <= 0) return std::nullopt;
  const double long_rate = rates.At(BubbleLength::kLong, NodeTime::kMean);
  Interval interval;
  interval.mid = kWeightShort * rates.At(BubbleLength::kShort, NodeTime::kMean) +
                 kWeightMedian * median + kWeightLong * long_rate;
  // Neighbours can turn the order round: what a longer bubble brings may go to them.
  interval.low = std::min(interval.mid, rates.At(BubbleLength::kShort, NodeTime::kHigh));
  interval.high = std::max(interval.mid, rates.At(BubbleLength::kLong, NodeTime::kMeanFits));
  return interval;
}

std::optional<RateForecast> ForecastRate(const FillProfile& profile, const Calendar& calendar,
                                         const ForecastOptions& options, std::string* why) {
  CHECK(!profile.configurations.empty());
  const ExecutionPlan plan =
      PlanExecution(profile, CalendarFor(calendar, options), {.steps_max = kStepsMax});
  if (!plan.best.has_value()) {
    if (why != nullptr) *why = ExplainInfeasible(profile, plan);
    return std::nullopt;
  }
  const std::optional<Interval> rate =
      ForecastConfiguration(profile.configurations[*plan.best], calendar, options);
  if (!rate.has_value()) {
    if (why != nullptr) *why = "the jobs beside it leave no room for its units";
    return std::nullopt;
  }
  return RateForecast{.configuration = *plan.best, .samples_per_s = *rate};
}

Interval SecondsLeft(double samples_left, const Interval& samples_per_s) {
  const auto seconds = [&](double rate) {
    if (samples_left <= 0) return 0.0;
    return rate > 0 ? samples_left / rate : std::numeric_limits<double>::infinity();
  };
  return {.low = seconds(samples_per_s.high),
          .mid = seconds(samples_per_s.mid),
          .high = seconds(samples_per_s.low)};
}

}  // namespace pipefill
