#include "client/fill/unit_estimate.h"

#include <algorithm>
#include <array>
#include <span>

namespace pipefill::sdk {

UnitEstimate::UnitEstimate(uint64_t hint_ns)
    : guess_ns_(hint_ns == 0 ? kDefaultHintNs : hint_ns), estimate_ns_(guess_ns_) {}

void UnitEstimate::OnUnit(const UnitMeasure& measure) {
  denials_.OnUnit(measure.is_overrun);
  units_.Add(measure);
  Recompute();
}

void UnitEstimate::OnDenied() {
  const size_t known = units_.samples().size();
  if (!denials_.OnDenied(known)) return;
  if (known == 0) {
    guess_ns_ = std::max(guess_ns_ / 2, kGuessMinNs);
  } else {
    DropLongest();
  }
  Recompute();
}

void UnitEstimate::DropLongest() {
  const std::span<const RecentUnits::Sample> samples = units_.samples();
  const auto longest =
      std::max_element(samples.begin(), samples.end(),
                       [](const auto& a, const auto& b) { return a.length_ns < b.length_ns; });
  units_.Drop(static_cast<size_t>(longest - samples.begin()));
}

void UnitEstimate::Recompute() {
  const std::span<const RecentUnits::Sample> samples = units_.samples();
  estimate_ns_ = guess_ns_;
  if (samples.empty()) return;
  std::array<uint64_t, kSamplesMax> lengths;
  uint64_t last_overrun_ns = 0;
  for (size_t i = 0; i < samples.size(); ++i) {
    lengths[i] = samples[i].length_ns;
    if (samples[i].measure.is_overrun) last_overrun_ns = samples[i].length_ns;
  }
  const size_t rank = (9 * samples.size() + 9) / 10 - 1;  // ceil(0.9 n), from 0
  const auto begin = lengths.begin();
  std::nth_element(begin, begin + static_cast<std::ptrdiff_t>(rank),
                   begin + static_cast<std::ptrdiff_t>(samples.size()));
  estimate_ns_ = std::max(lengths[rank], last_overrun_ns);
}

}  // namespace pipefill::sdk
