// Compares two conditions by neighbouring pairs, and says how sure the comparison is.
//
// The value is the median of the paired ratios. Neighbours share the slow drift of a noisy machine,
// so it cancels in their ratio; the median does not care how far out the bad pairs are. And it has
// no bias even where a pair sets the median of many filled iterations against one single hold-out:
// if filling changes nothing, the two are as likely to come in one order as in the other, whatever
// their distribution. The Hodges-Lehmann estimate is tighter for symmetric noise, but iteration
// times are skewed, and there it does not have that property (Hollander, Wolfe, Chicken:
// Nonparametric Statistical Methods, chapter 3).
//
// The interval is the percentile bootstrap over pairs (Efron, Tibshirani: An Introduction to the
// Bootstrap, chapter 13): pairs are drawn with replacement kResamples times, from a seed, so the
// same trace gives the same interval.
//
// Pure.
#ifndef CLI_REPORT_PAIRED_RATIO_H_
#define CLI_REPORT_PAIRED_RATIO_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace pipefill {

inline constexpr int kResamples = 4000;
// With fewer pairs no interval for a median reaches 95 %: 2 * 0.5^5 > 0.05.
inline constexpr size_t kPairsMin = 6;

// One group of neighbouring iterations. All values are positive.
struct IterationPair {
  double filled_median_ns = 0;
  double held_out_median_ns = 0;
  double filled_mean_ns = 0;
  double held_out_mean_ns = 0;
};

struct ChangeInterval {
  double lo = 0;
  double hi = 0;
};

struct RatioEstimate {
  double change = 0;                       // ratio - 1: 0.01 = filled iterations take 1 % longer
  std::optional<ChangeInterval> interval;  // 95 %; absent with fewer than kPairsMin pairs
  size_t pairs = 0;
};

// Median over pairs of filled_median / held_out_median, - 1; nullopt without pairs.
std::optional<RatioEstimate> MedianOfRatios(const std::vector<IterationPair>& pairs, uint64_t seed);
// Sum of filled_mean / sum of held_out_mean, - 1: what a few very slow iterations cost shows here
// and not in the median; so does the noise of the machine.
std::optional<RatioEstimate> RatioOfMeans(const std::vector<IterationPair>& pairs, uint64_t seed);

// The q-quantile, between neighbours by linear interpolation. REQUIRES: sorted, not empty, 0 <= q
// <= 1.
double QuantileOfSorted(const std::vector<double>& sorted, double q);

}  // namespace pipefill

#endif  // CLI_REPORT_PAIRED_RATIO_H_
