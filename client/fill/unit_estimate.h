// How long the next unit of one kind and fixed size will take: what the gate compares with the
// window.
//
// The estimate is the 90th percentile of the last 32 lengths (see RecentUnits), and not below the
// length of the last overrun among them. So one unit that was interrupted inside its bubble counts
// for nothing once ten lengths are known, and an overrun counts with its CPU time.
//
//   guess --OnUnit--> measured --lengths dropped one by one--> guess
//
// What starves the task, a guess or a slow start-up unit, is given up as Denials says.
//
// Pure.
#ifndef CLIENT_FILL_UNIT_ESTIMATE_H_
#define CLIENT_FILL_UNIT_ESTIMATE_H_

#include <cstddef>
#include <cstdint>

#include "client/fill/denials.h"
#include "client/fill/recent_units.h"

namespace pipefill::sdk {

class UnitEstimate {
 public:
  static constexpr size_t kSamplesMax = 32;

  // 0 = kDefaultHintNs.
  explicit UnitEstimate(uint64_t hint_ns = 0);

  void OnUnit(const UnitMeasure& measure);
  // A bubble was offered, a unit was wanted, and none of this kind was allowed to start in it.
  void OnDenied();

  uint64_t estimate_ns() const { return estimate_ns_; }

 private:
  void DropLongest();
  void Recompute();

  uint64_t guess_ns_;
  uint64_t estimate_ns_;
  RecentUnits units_{kSamplesMax};
  Denials denials_;
};

}  // namespace pipefill::sdk

#endif  // CLIENT_FILL_UNIT_ESTIMATE_H_
