#include "agent/learn/recent_values.h"

#include <algorithm>
#include <cmath>

#include "common/check.h"

namespace pipefill {

RecentValues::RecentValues(size_t limit) : limit_(limit) { CHECK(limit > 0); }

void RecentValues::Add(int64_t value) {
  if (arrived_.size() < limit_) {
    arrived_.push_back(value);
  } else {
    sorted_.erase(std::lower_bound(sorted_.begin(), sorted_.end(), arrived_[oldest_]));
    arrived_[oldest_] = value;
    oldest_ = (oldest_ + 1) % limit_;
  }
  sorted_.insert(std::upper_bound(sorted_.begin(), sorted_.end(), value), value);
}

void RecentValues::KeepNewest(size_t count) {
  if (count >= arrived_.size()) return;
  std::rotate(arrived_.begin(), arrived_.begin() + static_cast<std::ptrdiff_t>(oldest_),
              arrived_.end());
  arrived_.erase(arrived_.begin(), arrived_.end() - static_cast<std::ptrdiff_t>(count));
  oldest_ = 0;
  sorted_ = arrived_;
  std::sort(sorted_.begin(), sorted_.end());
}

int64_t RecentValues::Quantile(double share) const {
  if (sorted_.empty()) return 0;
  const double rank = std::ceil(std::clamp(share, 0.0, 1.0) * static_cast<double>(sorted_.size()));
  const size_t index = rank < 1.0 ? 0 : static_cast<size_t>(rank) - 1;
  return sorted_[std::min(index, sorted_.size() - 1)];
}

}  // namespace pipefill
