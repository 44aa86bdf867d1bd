#include "cli/report/paired_ratio.h"

#include <algorithm>
#include <functional>

#include "client/pages/hold_out.h"
#include "common/check.h"
#include "common/median.h"

namespace pipefill {
namespace {

using Statistic = std::function<double(const std::vector<IterationPair>&)>;

double MedianRatio(const std::vector<IterationPair>& pairs) {
  std::vector<double> ratios;
  ratios.reserve(pairs.size());
  for (const IterationPair& pair : pairs) {
    ratios.push_back(pair.filled_median_ns / pair.held_out_median_ns);
  }
  return Median(std::move(ratios));
}

double MeanRatio(const std::vector<IterationPair>& pairs) {
  double filled = 0;
  double held_out = 0;
  for (const IterationPair& pair : pairs) {
    filled += pair.filled_mean_ns;
    held_out += pair.held_out_mean_ns;
  }
  return filled / held_out;
}

std::optional<RatioEstimate> Estimate(const std::vector<IterationPair>& pairs, uint64_t seed,
                                      const Statistic& statistic) {
  if (pairs.empty()) return std::nullopt;
  RatioEstimate estimate;
  estimate.change = statistic(pairs) - 1;
  estimate.pairs = pairs.size();
  if (pairs.size() < kPairsMin) return estimate;
  std::vector<double> changes;
  changes.reserve(kResamples);
  std::vector<IterationPair> drawn(pairs.size());
  uint64_t draw = HashGroup(seed);
  for (int i = 0; i < kResamples; ++i) {
    for (IterationPair& pair : drawn) {
      // The upper half of the hash, scaled to an index.
      pair = pairs[(HashGroup(draw++) >> 32) * pairs.size() >> 32];
    }
    changes.push_back(statistic(drawn) - 1);
  }
  std::sort(changes.begin(), changes.end());
  estimate.interval = ChangeInterval{.lo = QuantileOfSorted(changes, 0.025),
                                     .hi = QuantileOfSorted(changes, 0.975)};
  return estimate;
}

}  // namespace

std::optional<RatioEstimate> MedianOfRatios(const std::vector<IterationPair>& pairs,
                                            uint64_t seed) {
  return Estimate(pairs, seed, MedianRatio);
}

std::optional<RatioEstimate> RatioOfMeans(const std::vector<IterationPair>& pairs, uint64_t seed) {
  return Estimate(pairs, seed, MeanRatio);
}

double QuantileOfSorted(const std::vector<double>& sorted, double q) {
  CHECK(!sorted.empty());
  CHECK(q >= 0 && q <= 1);
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(position);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  const double part = position - static_cast<double>(below);
  return sorted[below] + (sorted[above] - sorted[below]) * part;
}

}  // namespace pipefill
