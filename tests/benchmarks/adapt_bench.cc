// How fast the learned latest starts follow a bubble that changes; prints one JSON object. Run by
// adapt.py.
//
// The real predictor, window page and look-up of the gate, in virtual time: units of 0.5 ms (3 %
// noise) start one after the other while the page lets them. Each scenario is repeated with other
// random numbers; figures are medians over the repetitions.
//
//   step_up, step_down  5 ms, then 30 % longer or shorter, with 3 % jitter
//   drift               from 5 ms up by 20 % and down again over 400 iterations, with 3 % jitter
//   jitter              5 ms, lognormal with a deviation of 15 %
//
// *_iterations: from the step until the last ten iterations together were filled at least to nine
// tenths of what is filled at the end, with no more than 3 % of overrun; ten at the least.
// *_overrun_meanwhile: overrun per bubble time in the 64 iterations after the step. *_filled,
// *_overrun: share of bubble time, at the end.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <random>
#include <vector>

#include "agent/learn/bubble_predictor.h"
#include "client/pages/window_page.h"
#include "tests/benchmarks/published_window.h"

namespace pipefill {
namespace {

constexpr uint32_t kSlot = 0;
constexpr double kBubbleNs = 5e6;
constexpr double kUnitNs = 0.5e6;
constexpr double kWakeNs = 20e3;
constexpr int kStepAt = 200;
constexpr int kIterations = 600;
constexpr int kRepetitions = 101;
constexpr int kSteady = 100;  // iterations at the end
constexpr int kMeanwhile = 64;
constexpr int kWindow = 10;
constexpr double kOverrunShare = 0.03;

// Length of the bubble of an iteration.
using LengthOf = std::function<double(int, std::mt19937_64&)>;

struct Fill {
  double bubble_ns = 0;
  double filled_ns = 0;
  double overrun_ns = 0;
  double filled() const { return filled_ns / bubble_ns; }
  double overrun() const { return overrun_ns / bubble_ns; }
  void Add(const Fill& other) {
    bubble_ns += other.bubble_ns;
    filled_ns += other.filled_ns;
    overrun_ns += other.overrun_ns;
  }
};

double Jitter(double share, std::mt19937_64& random) {
  return std::exp(std::normal_distribution<double>(0.0, share)(random));
}

Fill FillBubble(const WindowPage& page, double length_ns, std::mt19937_64& random) {
  Fill fill = {.bubble_ns = length_ns};
  double now_ns = kWakeNs;
  const auto estimate_ns = static_cast<uint64_t>(kUnitNs * 1.04);  // the gate's high quantile
  while (now_ns < length_ns) {
    const int64_t latest_ns = LatestStart(page, kSlot, estimate_ns);
    if (latest_ns < 0 || now_ns > static_cast<double>(latest_ns)) break;
    const double end_ns = now_ns + kUnitNs * Jitter(0.03, random);
    fill.filled_ns += std::min(end_ns, length_ns) - now_ns;
    fill.overrun_ns += std::max(0.0, end_ns - length_ns);
    now_ns = end_ns;
  }
  return fill;
}

std::vector<Fill> Simulate(const LengthOf& length_of, uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto page = std::make_unique<WindowPage>();
  BubblePredictor predictor({});
  std::vector<Fill> fills;
  for (int i = 0; i < kIterations; ++i) {
    const double length_ns = length_of(i, random);
    fills.push_back(FillBubble(*page, length_ns, random));
    predictor.OnLength(kSlot, static_cast<int64_t>(length_ns));
    Publish(predictor, kSlot, page.get());
  }
  return fills;
}

Fill Sum(const std::vector<Fill>& fills, int begin, int end) {
  Fill sum;
  for (int i = begin; i < end; ++i) sum.Add(fills[static_cast<size_t>(i)]);
  return sum;
}

int IterationsToFollow(const std::vector<Fill>& fills) {
  const double goal = 0.9 * Sum(fills, kIterations - kSteady, kIterations).filled();
  for (int i = kStepAt; i + kWindow <= kIterations; ++i) {
    const Fill window = Sum(fills, i, i + kWindow);
    if (window.filled() >= goal && window.overrun() <= kOverrunShare) return i + kWindow - kStepAt;
  }
  return kIterations - kStepAt;
}

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

struct Figures {
  std::vector<double> iterations, meanwhile, filled, overrun;
};

Figures Repeat(const LengthOf& length_of, int from) {
  Figures figures;
  for (uint64_t seed = 1; seed <= kRepetitions; ++seed) {
    const std::vector<Fill> fills = Simulate(length_of, seed);
    figures.iterations.push_back(IterationsToFollow(fills));
    figures.meanwhile.push_back(Sum(fills, kStepAt, kStepAt + kMeanwhile).overrun());
    figures.filled.push_back(Sum(fills, from, kIterations).filled());
    figures.overrun.push_back(Sum(fills, from, kIterations).overrun());
  }
  return figures;
}

void PrintStep(const char* name, double factor) {
  const Figures figures = Repeat(
      [factor](int i, std::mt19937_64& random) {
        return (i < kStepAt ? 1.0 : factor) * kBubbleNs * Jitter(0.03, random);
      },
      kIterations - kSteady);
  printf("\"%s_iterations\": %.0f, \"%s_overrun_meanwhile\": %.4f, ", name,
         Median(figures.iterations), name, Median(figures.meanwhile));
  printf("\"%s_filled\": %.4f, \"%s_overrun\": %.4f, ", name, Median(figures.filled), name,
         Median(figures.overrun));
}

int Main() {
  printf("{");
  PrintStep("step_up", 1.3);
  PrintStep("step_down", 0.7);
  const Figures drift = Repeat(
      [](int i, std::mt19937_64& random) {
        const double phase = std::max(0, i - kStepAt) / 200.0;
        const double change = phase <= 1 ? phase : 2 - phase;
        return (1 + 0.2 * change) * kBubbleNs * Jitter(0.03, random);
      },
      kStepAt);
  printf("\"drift_filled\": %.4f, \"drift_overrun\": %.4f, ", Median(drift.filled),
         Median(drift.overrun));
  const Figures jitter = Repeat(
      [](int, std::mt19937_64& random) { return kBubbleNs * Jitter(0.15, random); }, kStepAt);
  printf("\"jitter_filled\": %.4f, \"jitter_overrun\": %.4f}\n", Median(jitter.filled),
         Median(jitter.overrun));
  return 0;
}

}  // namespace
}  // namespace pipefill

int main() { return pipefill::Main(); }
