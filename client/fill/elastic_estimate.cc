#include "client/fill/elastic_estimate.h"

#include <array>
#include <limits>

namespace pipefill::sdk {

// The units on one side of the split.
struct ElasticEstimate::Group {
  std::array<double, kSamplesMax> sizes;
  std::array<double, kSamplesMax> lengths;
  std::array<double, kSamplesMax> ratios;
  size_t count = 0;

  void Add(const RecentUnits::Sample& sample) {
    sizes[count] = static_cast<double>(sample.size);
    lengths[count] = static_cast<double>(sample.length_ns);
    ++count;
  }
  // Before the medians reorder sizes and lengths.
  void CompareWith(const Line& line) {
    for (size_t i = 0; i < count; ++i) {
      const double expected_ns = line.At(sizes[i]);
      ratios[i] = expected_ns > 0 ? lengths[i] / expected_ns : 1;
    }
  }
  // Of copies: both medians are the lower ones, so that units on a line have theirs on it.
  Point Median() const {
    std::array<double, kSamplesMax> size_copy = sizes;
    std::array<double, kSamplesMax> length_copy = lengths;
    return {.size = QuantileOf({size_copy.data(), count}, 0.5),
            .length_ns = QuantileOf({length_copy.data(), count}, 0.5)};
  }
};

ElasticEstimate::ElasticEstimate(uint64_t hint_ns)
    : guess_ns_(hint_ns == 0 ? kDefaultHintNs : hint_ns) {}

void ElasticEstimate::OnUnit(uint32_t size, const UnitMeasure& measure) {
  denials_.OnUnit(measure.is_overrun);
  units_.Add(measure, std::max(size, 1u));
  Recompute();
}

void ElasticEstimate::OnDenied() {
  const std::span<const RecentUnits::Sample> samples = units_.samples();
  if (!denials_.OnDenied(samples.size())) return;
  if (samples.empty()) {
    guess_ns_ = std::max(guess_ns_ / 2, kGuessMinNs);
    return;
  }
  const auto excess_ns = [this](const RecentUnits::Sample& sample) {
    return static_cast<double>(sample.length_ns) - line_.At(sample.size);
  };
  const auto furthest =
      std::max_element(samples.begin(), samples.end(),
                       [&](const auto& a, const auto& b) { return excess_ns(a) < excess_ns(b); });
  units_.Drop(static_cast<size_t>(furthest - samples.begin()));
  Recompute();
}

uint64_t ElasticEstimate::EstimateNs(uint32_t size) const {
  if (!is_known()) return guess_ns_;
  const auto exact_size = static_cast<double>(size);
  double length_ns = estimate_.At(exact_size);
  if (!has_line_ && size > largest_) length_ns *= exact_size / static_cast<double>(largest_);
  if (overrun_.length_ns > 0) {
    const double share = std::min(1.0, exact_size / overrun_.size);
    length_ns = std::max(length_ns, overrun_.length_ns * share);
  }
  constexpr double kLargest = 9e18;  // below 2^63
  return static_cast<uint64_t>(std::min(length_ns + 0.5, kLargest));
}

uint32_t ElasticEstimate::LargestToTry(SizeRange range) const {
  if (!is_known()) return range.min;
  const bool lacks_small =
      has_line_ ? small_count_ * kSmallOneIn < units_.samples().size() : smallest_ / 2 >= range.min;
  if (lacks_small) return range.min;
  const uint64_t limit = std::max<uint64_t>(range.min, 2 * uint64_t{largest_});
  return static_cast<uint32_t>(std::min<uint64_t>(range.max, limit));
}

void ElasticEstimate::Recompute() {
  const std::span<const RecentUnits::Sample> samples = units_.samples();
  smallest_ = largest_ = 1;
  overrun_ = {};
  has_line_ = false;
  if (samples.empty()) return;
  smallest_ = std::numeric_limits<uint32_t>::max();
  for (size_t i = 0; i < samples.size(); ++i) {
    const RecentUnits::Sample& sample = samples[i];
    smallest_ = std::min(smallest_, sample.size);
    largest_ = std::max(largest_, sample.size);
    if (!sample.measure.is_overrun || samples.size() - i > kOverrunMemory) continue;
    overrun_ = {.size = static_cast<double>(sample.size),
                .length_ns = static_cast<double>(sample.length_ns)};
  }
  has_line_ = largest_ / 2 >= smallest_;
  const double split = (static_cast<double>(smallest_) + static_cast<double>(largest_)) / 2;
  Group small;
  Group large;
  for (const RecentUnits::Sample& sample : samples) {
    (has_line_ && sample.size <= split ? small : large).Add(sample);
  }
  small_count_ = small.count;
  Fit(small, large);
}

void ElasticEstimate::Fit(Group& small, Group& large) {
  const Point large_median = large.Median();
  if (!has_line_) {
    line_ = {.a = large_median.length_ns, .b = 0};
    estimate_ = {.a = QuantileOf({large.lengths.data(), large.count}, kQuantile), .b = 0};
    return;
  }
  const Point small_median = small.Median();
  line_ = Through(small_median, large_median);
  small.CompareWith(line_);
  large.CompareWith(line_);
  std::array<double, kSamplesMax> all;
  const auto end = std::copy_n(small.ratios.begin(), small.count, all.begin());
  std::copy_n(large.ratios.begin(), large.count, end);
  const double together = QuantileOf({all.data(), small.count + large.count}, kQuantile);
  const auto raise = [&](Group& group, Point median) {
    const double ratio = group.count < kOwnQuantile
                             ? together
                             : QuantileOf({group.ratios.data(), group.count}, kQuantile);
    return Point{.size = median.size, .length_ns = ratio * line_.At(median.size)};
  };
  estimate_ = Through(raise(small, small_median), raise(large, large_median));
}

ElasticEstimate::Line ElasticEstimate::Through(Point small, Point large) {
  const double slope = (large.length_ns - small.length_ns) / (large.size - small.size);
  if (slope <= 0) return {.a = std::max(small.length_ns, large.length_ns), .b = 0};
  const double start = small.length_ns - slope * small.size;
  if (start >= 0) return {.a = start, .b = slope};
  return {.a = 0, .b = large.length_ns / large.size};
}

}  // namespace pipefill::sdk
