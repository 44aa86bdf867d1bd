// The last N values of something, with exact quantiles.
//
// Pure. Thread-compatible: one owner.
#ifndef AGENT_LEARN_RECENT_VALUES_H_
#define AGENT_LEARN_RECENT_VALUES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace pipefill {

class RecentValues {
 public:
  // REQUIRES: limit > 0.
  explicit RecentValues(size_t limit);

  // The oldest value leaves once `limit` are kept. O(limit), no allocation after the first `limit`.
  void Add(int64_t value);
  // Only the newest `count` stay.
  void KeepNewest(size_t count);

  size_t size() const { return sorted_.size(); }
  bool is_empty() const { return sorted_.empty(); }
  // Growing; valid until the next change.
  const std::vector<int64_t>& sorted() const { return sorted_; }
  // The smallest kept value v such that a share of at least `share` of them is <= v (nearest rank);
  // 0 if nothing is kept. `share` is taken into [0, 1].
  int64_t Quantile(double share) const;

 private:
  size_t limit_;
  size_t oldest_ = 0;  // index into arrived_, once it is full
  std::vector<int64_t> arrived_;
  std::vector<int64_t> sorted_;
};

}  // namespace pipefill

#endif  // AGENT_LEARN_RECENT_VALUES_H_
