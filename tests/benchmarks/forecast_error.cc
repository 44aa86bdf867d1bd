#include "tests/benchmarks/forecast_error.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>

#include "agent/learn/bubble_predictor.h"
#include "client/pages/window_page.h"
#include "planner/calendar.h"
#include "planner/forecast.h"
#include "planner/profile.h"
#include "tests/benchmarks/published_window.h"

namespace pipefill {
namespace {

constexpr uint32_t kSlot = 0;
constexpr int64_t kIterationNs = 100'000'000;
constexpr double kWakeNs = 20e3;
constexpr double kUnitNoise = 0.05;
constexpr double kHigh = 1.066;  // 90th percentile of such units
constexpr int kLearning = 100;   // iterations before units and forecasts count
constexpr int kIterations = 2100;
constexpr int kForecastEvery = 100;

double Jitter(double share, std::mt19937_64& random) {
  return std::exp(std::normal_distribution<double>(0.0, share)(random));
}

// Units that the gate starts in a bubble of that length.
int UnitsIn(const WindowPage& page, double length_ns, double unit_ns, std::mt19937_64& random) {
  int units = 0;
  const auto estimate_ns = static_cast<uint64_t>(unit_ns * kHigh);
  for (double now_ns = kWakeNs; now_ns < length_ns; ++units) {
    const int64_t latest_ns = LatestStart(page, kSlot, estimate_ns);
    if (latest_ns < 0 || now_ns > static_cast<double>(latest_ns)) break;
    now_ns += unit_ns * Jitter(kUnitNoise, random);
  }
  return units;
}

// As schedulerd makes it from a report.
Calendar CalendarOf(const BubblePredictor& predictor) {
  const BubbleSummary summary = predictor.Summarise(kSlot);
  CalendarBubble bubble{.name = "middle 0",
                        .p10_ns = summary.p10_ns,
                        .p50_ns = summary.p50_ns,
                        .p90_ns = summary.p90_ns,
                        .memory_free_bytes = INT64_MAX};
  for (size_t i = 0; i < kUnitLadder; ++i) {
    bubble.start_limits.push_back(
        {predictor.unit_ns()[i], predictor.WindowOf(kSlot).latest_start_ns[i]});
  }
  return {.bubbles = {bubble}, .iteration_ns = kIterationNs};
}

void Run(ForecastCase* each, uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto page = std::make_unique<WindowPage>();
  BubblePredictor predictor({});
  Configuration units;
  units.chain = {{.time_ns = static_cast<int64_t>(each->unit_ns),
                  .time_p90_ns = static_cast<int64_t>(each->unit_ns * kHigh)}};
  int64_t done = 0;
  int forecasts = 0;
  for (int i = 0; i < kIterations; ++i) {
    const double length_ns = each->bubble_ns * Jitter(each->bubble_jitter, random);
    const int now_done = UnitsIn(*page, length_ns, each->unit_ns, random);
    if (i >= kLearning) done += now_done;
    predictor.OnLength(kSlot, static_cast<int64_t>(length_ns));
    Publish(predictor, kSlot, page.get());
    if (i < kLearning || i % kForecastEvery != 0) continue;
    ++forecasts;
    const std::optional<Interval> rate = ForecastConfiguration(units, CalendarOf(predictor), {});
    if (!rate.has_value()) continue;
    each->forecast_per_s += rate->mid;
    each->low_per_s += rate->low;
    each->high_per_s += rate->high;
  }
  for (double* sum : {&each->forecast_per_s, &each->low_per_s, &each->high_per_s}) {
    *sum /= forecasts;
  }
  each->actual_per_s = static_cast<double>(done) / (kIterations - kLearning) * 1e9 /
                       static_cast<double>(kIterationNs);
}

}  // namespace

std::vector<ForecastCase> MeasureForecastErrors() {
  std::vector<ForecastCase> cases;
  uint64_t seed = 0;
  for (const double bubble_ns : {1e6, 5e6, 20e6}) {
    for (const double jitter : {0.03, 0.15, 0.4}) {
      for (const double unit_ns : {0.2e6, 0.5e6, 1e6, 2e6, 5e6}) {
        if (unit_ns > bubble_ns) continue;
        ForecastCase each{.bubble_ns = bubble_ns, .bubble_jitter = jitter, .unit_ns = unit_ns};
        Run(&each, ++seed);
        cases.push_back(each);
      }
    }
  }
  return cases;
}

}  // namespace pipefill
