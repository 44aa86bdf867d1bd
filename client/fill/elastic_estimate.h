// How long a unit of n pieces will take, for elastic units: the task takes any n of a range, and
// the gate hands out the largest that still fits.
//
// A unit of n pieces is taken to last a + b n, a and b not negative. The line goes through the
// medians of the small and of the large ones among the last 64 units (split in the middle of their
// sizes), which a few interrupted units do not move. Around it, each unit has a ratio of its
// length to the line's; the estimate is the line times the 90th percentile of the ratios, of small
// and of large units by themselves once there are ten of each, since what disturbs short units more
// than long ones would else count twice. And it is not below the last of the 32 newest units that
// was an overrun: not below its length for larger sizes, nor below its share for smaller ones.
//
// Started pessimistic: the hint is for the smallest size, which runs first. While all known sizes
// lie within a factor of two there is no line: larger units count in proportion and smaller ones as
// long as those known, both of which a, b >= 0 bound from above. No size is tried that is more than
// twice the largest known one. And where no bubble ever runs out, so that large units only would
// run, one in 16 is the smallest, or the line would be a guess when it is needed.
//
// What starves the task is given up as Denials says; a drop takes the unit furthest above the line.
//
// Pure.
#ifndef CLIENT_FILL_ELASTIC_ESTIMATE_H_
#define CLIENT_FILL_ELASTIC_ESTIMATE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "client/fill/denials.h"
#include "client/fill/recent_units.h"

namespace pipefill::sdk {

// Both included; 1 <= min <= max.
struct SizeRange {
  uint32_t min = 1;
  uint32_t max = 1;
};

class ElasticEstimate {
 public:
  static constexpr size_t kSamplesMax = RecentUnits::kCapacity;
  static constexpr size_t kOverrunMemory = 32;
  // One unit in so many is a small one.
  static constexpr size_t kSmallOneIn = 16;
  // Small and large units have quantiles of their own once there are so many of each.
  static constexpr size_t kOwnQuantile = 10;
  static constexpr double kQuantile = 0.9;

  // 0 = kDefaultHintNs.
  explicit ElasticEstimate(uint64_t hint_ns = 0);

  void OnUnit(uint32_t size, const UnitMeasure& measure);
  // A bubble was offered, a unit was wanted, and not even the smallest was allowed to start in it.
  void OnDenied();

  // Never falls as `size` grows.
  uint64_t EstimateNs(uint32_t size) const;
  // Of the smallest size known.
  uint64_t SmallestNs() const { return EstimateNs(smallest_); }
  bool is_known() const { return !units_.samples().empty(); }

  // The size to try next: the largest in `range` for which `fits(EstimateNs(size))`, within the
  // limits above; range.min if not even that fits.
  template <typename Fits>
  uint32_t Choose(SizeRange range, Fits fits) const {
    uint32_t low = range.min;
    uint32_t high = LargestToTry(range);
    while (low < high) {
      const uint32_t middle = high - (high - low) / 2;
      if (fits(EstimateNs(middle))) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return low;
  }

 private:
  struct Line {
    double a = 0;
    double b = 0;
    double At(double size) const { return a + b * size; }
  };
  struct Point {
    double size = 0;
    double length_ns = 0;
  };
  struct Group;

  uint32_t LargestToTry(SizeRange range) const;
  void Recompute();
  void Fit(Group& small, Group& large);
  static Line Through(Point small, Point large);

  uint64_t guess_ns_;
  RecentUnits units_{kSamplesMax};
  Denials denials_;

  // Of the samples; all as after construction while there are none.
  uint32_t smallest_ = 1;
  uint32_t largest_ = 1;
  size_t small_count_ = 0;
  bool has_line_ = false;
  Line line_;      // through the medians
  Line estimate_;  // above
  Point overrun_;  // the last one; length 0: none
};

}  // namespace pipefill::sdk

#endif  // CLIENT_FILL_ELASTIC_ESTIMATE_H_
