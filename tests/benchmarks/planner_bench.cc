// How fast execution plans and forecasts are made; prints one JSON object.
//
// The job: 30 configurations of 10,000 nodes, lognormal around 0.3 ms, a larger batch taking
// longer. The device: 64 bubbles of 1-20 ms in iterations of 1 s.
//
// Times are CPU time of one thread.
//
//   plan_ms            the best configuration; median of 11 runs
//   plan_exact         configurations whose rate is exact, of 30
//   plan_error_max     how far another one's may be off
//   one_pass_ms        the same with one pass over each chain, as in PipeFill's paper
//   one_pass_error     how far its rates are from the steady ones, median over the configurations
//   forecasts_per_s    1,000 jobs x 64 devices: 3 configurations of 24 nodes, 16 bubbles
//   shared_forecasts_per_s  the same beside another job
//   choose_ms          the best 2 of 1,000 jobs for a device with 64 bubbles
//   forecast_error     of forecasts against gates in virtual time, see forecast_error.h: median and
//                      largest over the cases; forecast_inside: share of them that end inside the
//                      interval
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "client/platform/clock.h"
#include "planner/calendar.h"
#include "planner/chain_packer.h"
#include "planner/execution_plan.h"
#include "planner/forecast.h"
#include "planner/packing.h"
#include "planner/profile.h"
#include "tests/benchmarks/forecast_error.h"

namespace pipefill {
namespace {

constexpr int kRuns = 11;
constexpr int kJobs = 1'000;
constexpr int kDevices = 64;
constexpr int64_t kMs = 1'000'000;
constexpr int64_t kGiB = int64_t{1} << 30;

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

// CPU time: other programs do not count.
double MsOf(const std::function<void()>& work) {
  const sdk::SystemClock clock;
  const uint64_t begin_ns = clock.ProcessCpuNs();
  work();
  return static_cast<double>(clock.ProcessCpuNs() - begin_ns) * 1e-6;
}

Configuration MakeConfiguration(int batch, size_t nodes, std::mt19937_64& random) {
  std::lognormal_distribution<double> spread(0, 0.6);
  std::uniform_int_distribution<int64_t> memory(1 << 20, 256 << 20);
  Configuration configuration;
  configuration.name = "batch" + std::to_string(batch);
  configuration.samples_per_pass = batch;
  configuration.resident_bytes = kGiB;
  for (size_t i = 0; i < nodes; ++i) {
    const double time_ns = 0.3e6 * (0.3 + 0.1 * batch) * spread(random);
    ProfileNode node;
    node.time_ns = std::clamp(static_cast<int64_t>(time_ns), int64_t{1000}, 15 * kMs);
    node.time_p90_ns = node.time_ns + node.time_ns / 10;
    node.memory_bytes = memory(random);
    configuration.chain.push_back(node);
  }
  return configuration;
}

FillProfile MakeProfile(int configurations, size_t nodes, std::mt19937_64& random) {
  FillProfile profile;
  for (int i = 1; i <= configurations; ++i) {
    profile.configurations.push_back(MakeConfiguration(i, nodes, random));
  }
  return profile;
}

Calendar MakeCalendar(int bubbles, std::mt19937_64& random) {
  std::uniform_real_distribution<double> log_length(std::log(1e6), std::log(20e6));
  Calendar calendar{.iteration_ns = 1000 * kMs, .filled_share = 15.0 / 16};
  for (int i = 0; i < bubbles; ++i) {
    const double length_ns = std::exp(log_length(random));
    calendar.bubbles.push_back({.name = "scattered " + std::to_string(i),
                                .p10_ns = static_cast<int64_t>(0.9 * length_ns),
                                .p50_ns = static_cast<int64_t>(length_ns),
                                .p90_ns = static_cast<int64_t>(1.2 * length_ns),
                                .memory_free_bytes = 4 * kGiB});
  }
  // The longest node fits.
  calendar.bubbles[0].p10_ns = calendar.bubbles[0].p50_ns = calendar.bubbles[0].p90_ns = 40 * kMs;
  return calendar;
}

// PipeFill's own loop: one pass, which begins with a cycle and ends with one.
double OnePassRate(const Configuration& configuration, const Calendar& calendar) {
  const Cycle cycle = CycleOf(calendar, BubbleLength::kMedian, TypicalUnitNs(configuration));
  ChainPacker packer(configuration, NodeTime::kMean);
  int64_t cycles = 0;
  for (; packer.units() < packer.units_per_pass(); ++cycles) {
    for (const Window& window : cycle.windows) packer.Pack(window);
  }
  return static_cast<double>(configuration.samples_per_pass) * cycle.filled_share /
         (static_cast<double>(cycles) * static_cast<double>(cycle.iteration_ns) * 1e-9);
}

void MeasurePlans(std::mt19937_64& random) {
  const FillProfile profile = MakeProfile(30, 10'000, random);
  const Calendar calendar = MakeCalendar(64, random);
  ExecutionPlan plan;
  std::vector<double> plan_ms;
  std::vector<double> one_pass_ms;
  std::vector<double> rates;
  for (int i = 0; i < kRuns; ++i) {
    plan_ms.push_back(MsOf([&] { plan = PlanExecution(profile, calendar, {}); }));
    rates.clear();
    one_pass_ms.push_back(MsOf([&] {
      for (const Configuration& each : profile.configurations) {
        rates.push_back(OnePassRate(each, calendar));
      }
    }));
  }
  int exact = 0;
  double error_max = 0;
  std::vector<double> one_pass_errors;
  for (size_t i = 0; i < rates.size(); ++i) {
    const ConfigurationPlan& each = plan.configurations[i];
    if (each.error_share == 0) ++exact;
    error_max = std::max(error_max, each.error_share);
    one_pass_errors.push_back(std::abs(rates[i] / each.samples_per_s - 1));
  }
  printf("\"plan_ms\": %.2f, \"plan_exact\": %d, \"plan_error_max\": %.4f, ", Median(plan_ms),
         exact, error_max);
  printf("\"one_pass_ms\": %.2f, \"one_pass_error\": %.4f, ", Median(one_pass_ms),
         Median(one_pass_errors));
}

double ForecastsPerSecond(const std::vector<FillProfile>& jobs,
                          const std::vector<Calendar>& devices, const ForecastOptions& options) {
  int64_t made = 0;
  const double ms = MsOf([&] {
    for (const FillProfile& job : jobs) {
      for (const Calendar& device : devices) {
        made += ForecastRate(job, device, options).has_value() ? 1 : 0;
      }
    }
  });
  return static_cast<double>(made) / ms * 1e3;
}

void MeasureForecasts(std::mt19937_64& random) {
  std::vector<FillProfile> jobs;
  std::vector<Calendar> devices;
  for (int i = 0; i < kJobs; ++i) jobs.push_back(MakeProfile(3, 24, random));
  for (int i = 0; i < kDevices; ++i) devices.push_back(MakeCalendar(16, random));
  const Configuration neighbour = MakeConfiguration(2, 24, random);
  printf("\"forecasts_per_s\": %.0f, ", ForecastsPerSecond(jobs, devices, {}));
  jobs.resize(20);  // it takes a while
  printf("\"shared_forecasts_per_s\": %.0f, ",
         ForecastsPerSecond(jobs, devices, {.neighbours = {&neighbour}}));
}

void MeasureChoice(std::mt19937_64& random) {
  SeatLimits limits{.memory_bytes = 8 * kGiB, .seats = 2, .window_ns = {}};
  std::uniform_int_distribution<int64_t> length(kMs, 20 * kMs);
  for (int i = 0; i < 64; ++i) limits.window_ns.push_back(length(random));
  std::uniform_real_distribution<double> share(0.2, 0.95);
  std::vector<ResidentCandidate> candidates(kJobs);
  for (ResidentCandidate& candidate : candidates) {
    candidate.memory_bytes = kGiB + length(random) * 200;
    candidate.weight = share(random);
    for (const int64_t window_ns : limits.window_ns) {
      candidate.usable_ns.push_back(
          static_cast<int64_t>(share(random) * static_cast<double>(window_ns)));
    }
  }
  ResidentSet set;
  const double ms = MsOf([&] { set = ChooseResidents(candidates, limits); });
  printf("\"choose_ms\": %.2f, \"choose_exact\": %s", ms, set.is_exact ? "true" : "false");
}

// --cases prints each of them.
void MeasureErrors(bool prints_cases) {
  std::vector<double> errors;
  int inside = 0;
  for (const ForecastCase& each : MeasureForecastErrors()) {
    // No unit fits, and the forecast says so.
    if (each.actual_per_s == 0 && each.forecast_per_s == 0) continue;
    const double error = each.actual_per_s > 0 ? each.forecast_per_s / each.actual_per_s - 1 : 1;
    errors.push_back(std::abs(error));
    if (each.actual_per_s >= each.low_per_s && each.actual_per_s <= each.high_per_s) ++inside;
    if (!prints_cases) continue;
    fprintf(stderr, "bubble %4.0f ms, jitter %2.0f %%, unit %.1f ms: %7.2f/s, forecast %+6.1f %%\n",
            each.bubble_ns * 1e-6, each.bubble_jitter * 100, each.unit_ns * 1e-6, each.actual_per_s,
            error * 100);
  }
  printf(", \"forecast_error\": %.4f, \"forecast_error_max\": %.4f, \"forecast_inside\": %.3f",
         Median(errors), *std::max_element(errors.begin(), errors.end()),
         static_cast<double>(inside) / static_cast<double>(errors.size()));
}

int Main(bool prints_cases) {
  std::mt19937_64 random(1);
  printf("{");
  MeasurePlans(random);
  MeasureForecasts(random);
  MeasureChoice(random);
  MeasureErrors(prints_cases);
  printf("}\n");
  return 0;
}

}  // namespace
}  // namespace pipefill

int main(int argc, char** argv) {
  return pipefill::Main(argc == 2 && std::string(argv[1]) == "--cases");
}
