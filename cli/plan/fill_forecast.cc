#include "cli/plan/fill_forecast.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "cli/words.h"
#include "common/status.h"
#include "planner/alone_rate.h"
#include "planner/calendar.h"

namespace pipefill {
namespace {

Calendar CalendarOf(const PlanDevice& device) {
  Calendar calendar;
  calendar.iteration_ns = device.iteration_ns;
  calendar.filled_share = kPlannedFilledShare;
  for (const PlanBubble& bubble : device.bubbles) {
    calendar.bubbles.push_back(
        {.name = absl::StrCat(Word(bubble.bubble_class), " ", bubble.ordinal),
         .p10_ns = bubble.p10_ns,
         .p50_ns = bubble.p50_ns,
         .p90_ns = bubble.p90_ns,
         .memory_free_bytes = bubble.memory_free_bytes.value_or(INT64_MAX),
         .start_limits = {}});
  }
  return calendar;
}

}  // namespace

absl::StatusOr<FillForecast> ForecastFill(const FillQuestion& question, const IdlePlan& plan) {
  if (absl::Status status = CheckProfile(question.profile); !status.ok()) {
    return WithContext(status, question.job);
  }
  if (question.profile.configurations.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(question.job, ": no configuration, so nothing is known of its units; ",
                     "measure it with: pipefill profile -o FILE -- PROGRAM"));
  }
  FillForecast forecast;
  ForecastOptions options;
  options.memory_max_bytes = question.memory_max_bytes;
  for (const PlanDevice& device : plan.devices) {
    DeviceForecast one;
    if (device.bubbles.empty() || device.iteration_ns <= 0) {
      one.why = "nothing is idle";
    } else {
      one.rate = ForecastRate(question.profile, CalendarOf(device), options, &one.why);
    }
    if (one.rate.has_value()) {
      const double rate = one.rate->samples_per_s.mid;
      forecast.total_samples_per_s += rate;
      forecast.worth_devices +=
          rate / AloneRate(question.profile.configurations[one.rate->configuration]);
      const bool is_best = !forecast.best.has_value() ||
                           rate > forecast.devices[*forecast.best].rate->samples_per_s.mid;
      if (is_best) forecast.best = forecast.devices.size();
    }
    forecast.devices.push_back(std::move(one));
  }
  if (forecast.best.has_value() && question.profile.samples_total > 0) {
    forecast.seconds_left = SecondsLeft(static_cast<double>(question.profile.samples_total),
                                        forecast.devices[*forecast.best].rate->samples_per_s);
  }
  return forecast;
}

}  // namespace pipefill
