// What the units of all tasks did, booked on the bubbles, or failures, in which they started.
//
// Pure.
#ifndef CLI_REPORT_UNIT_LEDGER_H_
#define CLI_REPORT_UNIT_LEDGER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cli/report/trace.h"

namespace pipefill {

struct BubbleEntry {
  int64_t units = 0;
  int64_t in_bubble_ns = 0;  // CPU time
  int64_t overrun_ns = 0;
};

class UnitLedger {
 public:
  explicit UnitLedger(const Trace& trace);

  // REQUIRES: indices into Trace::ranks and RankTrace::bubbles.
  const BubbleEntry& entry(size_t rank, size_t bubble) const { return entries_[rank][bubble]; }
  // REQUIRES: indices into Trace::ranks and RankTrace::failures.
  const BubbleEntry& failure_entry(size_t rank, size_t failure) const {
    return failure_entries_[rank][failure];
  }
  // The bubble of a unit: index into the bubbles of unit.rank; kNone if the trace does not have it,
  // and for units of failures.
  size_t BubbleOf(const UnitTrace& unit) const;
  // Likewise of a unit that started because the rank stood still.
  size_t FailureOf(const UnitTrace& unit) const;
  // A unit without a known bubble or failure is all overrun.
  UnitSplit SplitOfUnit(const UnitTrace& unit) const;

 private:
  const Trace& trace_;  // outlives this
  std::vector<BubbleIndex> indices_;
  std::vector<std::vector<BubbleEntry>> entries_;
  std::vector<std::vector<BubbleEntry>> failure_entries_;
};

// Sums of untrusted numbers: stays at the largest value instead of overflowing.
int64_t AddSaturated(int64_t a, int64_t b);

}  // namespace pipefill

#endif  // CLI_REPORT_UNIT_LEDGER_H_
