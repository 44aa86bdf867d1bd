#include "client/fill/unit_estimate.h"

#include <algorithm>

namespace pipefill::sdk {

UnitEstimate::UnitEstimate(uint64_t hint_ns)
    : guess_ns_(hint_ns == 0 ? kDefaultHintNs : hint_ns), estimate_ns_(guess_ns_) {}

void UnitEstimate::OnUnit(const UnitMeasure& measure) {
  denied_in_row_ = 0;
  if (!measure.is_overrun) {
    back_off_ = 1;
  } else if (is_trial_) {
    back_off_ = std::min(2 * back_off_, kBackOffMax);
  }
  is_trial_ = false;
  const Sample sample = {.length_ns = LengthOf(measure), .measure = measure};
  if (count_ == kSamplesMax) {
    std::move(samples_.begin() + 1, samples_.end(), samples_.begin());
    --count_;
  }
  samples_[count_++] = sample;
  Recompute();
}

void UnitEstimate::OnDenied() {
  ++denied_in_row_;
  if (count_ == 0) {
    if (denied_in_row_ < kDeniedBeforeHalving) return;
    guess_ns_ = std::max(guess_ns_ / 2, kGuessMinNs);
  } else {
    const uint32_t patience = count_ < kFewSamples ? kDeniedBeforeDropFew : kDeniedBeforeDrop;
    if (denied_in_row_ < patience * back_off_) return;
    DropLongest();
    is_trial_ = true;
  }
  denied_in_row_ = 0;
  Recompute();
}

uint64_t UnitEstimate::LengthOf(const UnitMeasure& measure) const {
  if (!measure.is_overrun) return measure.wall_ns;
  double wall_ns = 0;
  double cpu_ns = 0;
  for (size_t i = 0; i < count_; ++i) {
    if (samples_[i].measure.is_overrun) continue;
    wall_ns += static_cast<double>(samples_[i].measure.wall_ns);
    cpu_ns += static_cast<double>(samples_[i].measure.cpu_ns);
  }
  const double wall_per_cpu = cpu_ns > 0 && wall_ns > 0 ? wall_ns / cpu_ns : 1;
  const double length_ns = static_cast<double>(measure.cpu_ns) * wall_per_cpu;
  if (length_ns >= static_cast<double>(measure.wall_ns)) return measure.wall_ns;
  return static_cast<uint64_t>(length_ns);
}

void UnitEstimate::DropLongest() {
  const auto end = samples_.begin() + static_cast<std::ptrdiff_t>(count_);
  const auto longest =
      std::max_element(samples_.begin(), end,
                       [](const Sample& a, const Sample& b) { return a.length_ns < b.length_ns; });
  std::move(longest + 1, end, longest);
  --count_;
}

void UnitEstimate::Recompute() {
  estimate_ns_ = guess_ns_;
  if (count_ == 0) return;
  std::array<uint64_t, kSamplesMax> lengths;
  uint64_t last_overrun_ns = 0;
  for (size_t i = 0; i < count_; ++i) {
    lengths[i] = samples_[i].length_ns;
    if (samples_[i].measure.is_overrun) last_overrun_ns = samples_[i].length_ns;
  }
  const size_t rank = (9 * count_ + 9) / 10 - 1;  // ceil(0.9 n), from 0
  const auto begin = lengths.begin();
  std::nth_element(begin, begin + static_cast<std::ptrdiff_t>(rank),
                   begin + static_cast<std::ptrdiff_t>(count_));
  estimate_ns_ = std::max(lengths[rank], last_overrun_ns);
}

}  // namespace pipefill::sdk
