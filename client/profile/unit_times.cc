#include "client/profile/unit_times.h"

#include <algorithm>
#include <cmath>

namespace pipefill::sdk {

void UnitTimes::Add(uint64_t time_ns) {
  if (count_ % stride_ == 0) {
    if (kept_.size() == kKeptMax) {
      for (size_t i = 0; i < kKeptMax / 2; ++i) kept_[i] = kept_[2 * i];
      kept_.resize(kKeptMax / 2);
      stride_ *= 2;
    }
    kept_.push_back(time_ns);
  }
  ++count_;
  total_ns_ += time_ns;
  max_ns_ = std::max(max_ns_, time_ns);
}

uint64_t UnitTimes::QuantileNs(double share) const {
  if (kept_.empty()) return 0;
  std::vector<uint64_t> sorted = kept_;
  const auto rank = static_cast<size_t>(std::ceil(share * static_cast<double>(sorted.size())));
  const auto place = sorted.begin() + static_cast<std::ptrdiff_t>(std::max<size_t>(rank, 1) - 1);
  std::nth_element(sorted.begin(), place, sorted.end());
  return *place;
}

}  // namespace pipefill::sdk
