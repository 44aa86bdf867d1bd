#include "agent/learn/slowdown_estimate.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>

#include "common/median.h"

namespace pipefill {
namespace {

constexpr size_t kFilledMin = 2;  // of a comparison
// Of a normal distribution, half the width of its middle half: 1 / 0.6745.
constexpr double kSpreadPerMedian = 1.4826;

double Mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// About the mean, for one less degree of freedom.
double Variance(std::span<const double> values) {
  const double mean = Mean(values);
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return sum / static_cast<double>(values.size() - 1);
}

// The 97.5 % quantile of Student's distribution, by the expansion of Abramowitz and Stegun,
// 26.7.5: within 0.2 % from 5 degrees of freedom on.
double StudentQuantile(double freedom) {
  constexpr double kZ = 1.959964;
  constexpr double kZ3 = kZ * kZ * kZ;
  constexpr double kZ5 = kZ3 * kZ * kZ;
  constexpr double kZ7 = kZ5 * kZ * kZ;
  const double first = (kZ3 + kZ) / 4;
  const double second = (5 * kZ5 + 16 * kZ3 + 3 * kZ) / 96;
  const double third = (3 * kZ7 + 19 * kZ5 + 17 * kZ3 - 15 * kZ) / 384;
  return kZ + first / freedom + second / (freedom * freedom) +
         third / (freedom * freedom * freedom);
}

void MakeResiduals(double median, std::vector<double>& lengths) {
  for (double& length : lengths) length = length / median - 1;
}

std::vector<double> Limited(const std::vector<double>& residuals, double limit) {
  std::vector<double> limited;
  limited.reserve(residuals.size());
  for (const double residual : residuals) limited.push_back(std::clamp(residual, -limit, limit));
  return limited;
}

void Append(const std::vector<double>& more, std::vector<double>& values) {
  values.insert(values.end(), more.begin(), more.end());
}

// Mean of the means of two sides, and its variance per variance of a value.
struct BothSides {
  double mean = 0;
  double variance = 0;
};

BothSides MeanOf(const std::vector<double>& before, const std::vector<double>& behind) {
  if (before.empty()) return {Mean(behind), 1 / static_cast<double>(behind.size())};
  if (behind.empty()) return {Mean(before), 1 / static_cast<double>(before.size())};
  const double sizes =
      1 / static_cast<double>(before.size()) + 1 / static_cast<double>(behind.size());
  return {(Mean(before) + Mean(behind)) / 2, sizes / 4};
}

}  // namespace

void SlowdownEstimator::OnIteration(const IterationSample& sample) {
  if (last_number_.has_value() && sample.number != *last_number_ + 1) EndNeighbourhood();
  last_number_ = sample.number;
  const int64_t length_ns = std::max<int64_t>(sample.length_ns, 0);
  if (__builtin_add_overflow(span_ns_, length_ns, &span_ns_)) span_ns_ = 0;
  const auto length = static_cast<double>(length_ns);
  if (sample.kind == IterationFill::kHeldOut && length_ns > 0) {
    TakeHeldOut(length);
  } else {
    TakeOther(sample.kind == IterationFill::kFilled ? length : 0.0);
  }
}

void SlowdownEstimator::Forget() {
  comparisons_.clear();
  run_.reset();
  past_run_.reset();
  between_.clear();
  span_ns_ = 0;
}

void SlowdownEstimator::TakeHeldOut(double length) {
  if (!run_.has_value()) BeginRun();
  if (run_->lengths.held_out.size() < kRunMax) run_->lengths.held_out.push_back(length);
}

void SlowdownEstimator::TakeOther(double length) {
  if (run_.has_value()) {
    past_run_ = std::exchange(run_, std::nullopt);
    between_.clear();
  }
  between_.push_back(length);
  // Twice: as many are still left for a run that begins with the next iteration.
  if (past_run_.has_value() && between_.size() >= 2 * (kNeighbours + 1)) {
    CompleteRun(kNeighbours + 1);
  }
  if (!past_run_.has_value() && between_.size() > kNeighbours + 1) {
    between_.erase(between_.begin(), between_.end() - (kNeighbours + 1));
  }
}

void SlowdownEstimator::BeginRun() {
  size_t begin = 0;
  if (past_run_.has_value()) {
    const size_t middle = (between_.size() + 1) / 2;
    begin = std::max(middle, size_t{1});
    CompleteRun(std::min(middle, kNeighbours + 1));
  }
  Run run;
  if (begin < between_.size()) {
    run.just_before = between_.back();
    const size_t end = between_.size() - 1;
    begin = std::max(begin, end - std::min(end, kNeighbours));
    for (size_t i = begin; i < end; ++i) {
      if (between_[i] > 0) run.lengths.before.push_back(between_[i]);
    }
  }
  run_ = std::move(run);
}

void SlowdownEstimator::EndNeighbourhood() {
  if (run_.has_value()) {
    past_run_ = std::exchange(run_, std::nullopt);
    between_.clear();
  }
  if (past_run_.has_value()) CompleteRun(std::min(between_.size(), kNeighbours + 1));
  between_.clear();
}

void SlowdownEstimator::CompleteRun(size_t end) {
  const Run run = *std::exchange(past_run_, std::nullopt);
  Neighbourhood comparison = run.lengths;
  for (size_t i = 1; i < end; ++i) {
    if (between_[i] > 0) comparison.behind.push_back(between_[i]);
  }
  if (!run.is_short()) {
    comparison.held_out.erase(comparison.held_out.begin());
    if (run.just_before > 0) comparison.before.push_back(run.just_before);
  }
  if (comparison.before.size() + comparison.behind.size() < kFilledMin) return;
  std::vector<double> lengths = comparison.held_out;
  Append(comparison.before, lengths);
  Append(comparison.behind, lengths);
  const double median = Median(std::move(lengths));
  MakeResiduals(median, comparison.before);
  MakeResiduals(median, comparison.held_out);
  MakeResiduals(median, comparison.behind);
  comparison.span_ns = std::exchange(span_ns_, 0);
  comparisons_.push_back(std::move(comparison));
  if (comparisons_.size() > kComparisonsMax) comparisons_.pop_front();
}

std::optional<SlowdownEstimate> SlowdownEstimator::Estimate(size_t comparisons_max) const {
  const size_t count = std::min(comparisons_max, comparisons_.size());
  if (count < kComparisonsMin) return std::nullopt;
  const auto first = comparisons_.end() - static_cast<std::ptrdiff_t>(count);
  const double limit = LimitOf(first, comparisons_.end());
  SlowdownEstimate estimate;
  std::vector<double> differences;
  std::vector<double> all_filled;
  double held_out_sum = 0;
  double variance_sum = 0;
  for (auto comparison = first; comparison != comparisons_.end(); ++comparison) {
    const std::vector<double> held_out = Limited(comparison->held_out, limit);
    const std::vector<double> before = Limited(comparison->before, limit);
    const std::vector<double> behind = Limited(comparison->behind, limit);
    const BothSides filled = MeanOf(before, behind);
    differences.push_back(filled.mean - Mean(held_out));
    held_out_sum += Mean(held_out);
    variance_sum += filled.variance + 1 / static_cast<double>(held_out.size());
    Append(before, all_filled);
    Append(behind, all_filled);
    estimate.hold_outs += static_cast<int64_t>(held_out.size());
    estimate.span_ns += comparison->span_ns;
  }
  estimate.filled = static_cast<int64_t>(all_filled.size());
  const auto n = static_cast<double>(count);
  const double base = 1 + held_out_sum / n;
  const double by_comparisons = StudentQuantile(n - 1) * std::sqrt(Variance(differences) / n);
  const double by_iterations = StudentQuantile(static_cast<double>(all_filled.size() - 1)) *
                               std::sqrt(Variance(all_filled) * variance_sum) / n;
  const double half = std::max(by_comparisons, by_iterations) / base;
  estimate.slowdown = Mean(differences) / base;
  estimate.low = estimate.slowdown - half;
  estimate.high = estimate.slowdown + half;
  return estimate;
}

double SlowdownEstimator::LimitOf(Neighbourhoods::const_iterator first,
                                  Neighbourhoods::const_iterator last) {
  std::vector<double> sizes;
  for (; first != last; ++first) {
    for (const std::vector<double>* residuals :
         {&first->before, &first->held_out, &first->behind}) {
      for (const double residual : *residuals) sizes.push_back(std::abs(residual));
    }
  }
  return std::max(kLimitSpreads * kSpreadPerMedian * Median(std::move(sizes)), kLimitMin);
}

}  // namespace pipefill
