#include "agent/learn/change_detector.h"

#include <algorithm>
#include <cmath>

namespace pipefill {
namespace {

constexpr double kSharpness = 8.0;
constexpr double kChangeAt = 10.0;

// Between 0 and 1, both excluded; equal ones count half.
double RankIn(const std::vector<int64_t>& sorted, int64_t value) {
  const auto [low, high] = std::equal_range(sorted.begin(), sorted.end(), value);
  const auto below = static_cast<double>(low - sorted.begin());
  const auto not_above = static_cast<double>(high - sorted.begin());
  return ((below + not_above) / 2.0 + 0.5) / static_cast<double>(sorted.size() + 1);
}

}  // namespace

size_t ChangeDetector::OnLength(const std::vector<int64_t>& kept_sorted, int64_t length_ns) {
  Add(kept_sorted, length_ns, true, longer_);
  Add(kept_sorted, length_ns, false, shorter_);
  size_t run = 0;
  if (longer_.value >= kChangeAt) run = longer_.run;
  if (shorter_.value >= kChangeAt) run = shorter_.run;
  if (run > 0) {
    longer_.value = shorter_.value = 0.0;
  }
  return run;
}

void ChangeDetector::Add(const std::vector<int64_t>& kept_sorted, int64_t length_ns,
                         bool is_for_longer, Sum& sum) {
  const bool is_first = sum.value <= 0.0;
  const double rank = RankIn(is_first ? kept_sorted : sum.reference, length_ns);
  const double end_rank = is_for_longer ? rank : 1.0 - rank;
  sum.value += std::log(kSharpness) + (kSharpness - 1.0) * std::log(end_rank);
  if (sum.value <= 0.0) {
    sum.value = 0.0;
    return;
  }
  if (is_first) {
    sum.reference = kept_sorted;
    sum.run = 0;
  }
  ++sum.run;
}

}  // namespace pipefill
