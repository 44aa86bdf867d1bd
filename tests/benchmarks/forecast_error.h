// How far forecasts are from what gates do, in virtual time: the real predictor learns a bubble's
// lengths and writes its latest starts, units run as the gate's look-up lets them, and the planner
// forecasts their rate from what agentd would report.
//
// Thread-compatible: a function.
#ifndef TESTS_BENCHMARKS_FORECAST_ERROR_H_
#define TESTS_BENCHMARKS_FORECAST_ERROR_H_

#include <vector>

namespace pipefill {

struct ForecastCase {
  double bubble_ns = 0;      // median
  double bubble_jitter = 0;  // of its logarithm, normal
  double unit_ns = 0;
  double actual_per_s = 0;
  double forecast_per_s = 0;
  double low_per_s = 0;
  double high_per_s = 0;
};

// Bubbles of 1, 5 and 20 ms with 3, 15 and 40 % jitter, one in each iteration of 100 ms; units of
// 0.2 to 5 ms with 5 % noise, up to the length of the bubble.
std::vector<ForecastCase> MeasureForecastErrors();

}  // namespace pipefill

#endif  // TESTS_BENCHMARKS_FORECAST_ERROR_H_
