// Times of the units of one kind: count, mean and quantiles. Keeps a bounded, evenly spread sample
// of them.
//
// Thread-compatible: a value.
#ifndef CLIENT_PROFILE_UNIT_TIMES_H_
#define CLIENT_PROFILE_UNIT_TIMES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace pipefill::sdk {

class UnitTimes {
 public:
  static constexpr size_t kKeptMax = 4096;

  void Add(uint64_t time_ns);

  uint64_t count() const { return count_; }
  uint64_t total_ns() const { return total_ns_; }
  uint64_t max_ns() const { return max_ns_; }
  // Of the kept ones; 0 if there is none. REQUIRES: share in (0, 1].
  uint64_t QuantileNs(double share) const;

 private:
  uint64_t count_ = 0;
  uint64_t total_ns_ = 0;
  uint64_t max_ns_ = 0;
  std::vector<uint64_t> kept_;  // every stride_-th
  uint64_t stride_ = 1;
};

}  // namespace pipefill::sdk

#endif  // CLIENT_PROFILE_UNIT_TIMES_H_
