#include "client/fill/recent_units.h"

#include <algorithm>
#include <cmath>

namespace pipefill::sdk {

void RecentUnits::Add(const UnitMeasure& measure, uint32_t size) {
  const Sample sample = {.length_ns = LengthOf(measure), .size = size, .measure = measure};
  if (count_ == kept_) Drop(0);
  samples_[count_++] = sample;
}

void RecentUnits::Drop(size_t index) {
  const auto dropped = samples_.begin() + static_cast<std::ptrdiff_t>(index);
  std::move(dropped + 1, samples_.begin() + static_cast<std::ptrdiff_t>(count_), dropped);
  --count_;
}

uint64_t RecentUnits::LengthOf(const UnitMeasure& measure) const {
  if (!measure.is_overrun) return measure.wall_ns;
  std::array<double, kCapacity> ratios;
  size_t count = 0;
  for (const Sample& sample : samples()) {
    if (sample.measure.is_overrun || sample.measure.cpu_ns == 0) continue;
    ratios[count++] =
        static_cast<double>(sample.measure.wall_ns) / static_cast<double>(sample.measure.cpu_ns);
  }
  const double wall_per_cpu = count > 0 ? QuantileOf({ratios.data(), count}, 0.5) : 1;
  const double length_ns = static_cast<double>(measure.cpu_ns) * wall_per_cpu;
  if (length_ns >= static_cast<double>(measure.wall_ns)) return measure.wall_ns;
  return static_cast<uint64_t>(length_ns);
}

double QuantileOf(std::span<double> values, double share) {
  const double rank = std::ceil(share * static_cast<double>(values.size()) - 1e-9);
  const auto index = std::min(values.size() - 1, static_cast<size_t>(std::max(rank, 1.0)) - 1);
  const auto nth = values.begin() + static_cast<std::ptrdiff_t>(index);
  std::nth_element(values.begin(), nth, values.end());
  return *nth;
}

}  // namespace pipefill::sdk
