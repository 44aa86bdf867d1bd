#include "cli/report/unit_ledger.h"

#include <algorithm>
#include <limits>

namespace pipefill {

int64_t AddSaturated(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b < 0 ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
}

UnitLedger::UnitLedger(const Trace& trace) : trace_(trace) {
  for (const RankTrace& rank : trace.ranks) {
    indices_.emplace_back(rank);
    entries_.emplace_back(rank.bubbles.size());
    failure_entries_.emplace_back(rank.failures.size());
  }
  for (const TaskTrace& task : trace.tasks) {
    for (const UnitTrace& unit : task.units) {
      const size_t bubble = BubbleOf(unit);
      const size_t failure = FailureOf(unit);
      if (bubble == kNone && failure == kNone) continue;
      BubbleEntry& entry =
          bubble != kNone ? entries_[unit.rank][bubble] : failure_entries_[unit.rank][failure];
      const UnitSplit split = SplitOfUnit(unit);
      ++entry.units;
      entry.in_bubble_ns = AddSaturated(entry.in_bubble_ns, split.in_bubble_ns);
      entry.overrun_ns = AddSaturated(entry.overrun_ns, split.overrun_ns);
    }
  }
}

size_t UnitLedger::BubbleOf(const UnitTrace& unit) const {
  if (unit.rank == kNone || unit.is_of_failure()) return kNone;
  const size_t bubble = indices_[unit.rank].Find(unit.seq);
  if (bubble == kNone) return kNone;
  const Bubble& found = trace_.ranks[unit.rank].bubbles[bubble];
  return found.begin_ns == unit.bubble_begin_ns ? bubble : kNone;
}

size_t UnitLedger::FailureOf(const UnitTrace& unit) const {
  if (unit.rank == kNone || !unit.is_of_failure()) return kNone;
  const std::vector<Failure>& failures = trace_.ranks[unit.rank].failures;
  const auto found = std::lower_bound(
      failures.begin(), failures.end(), unit.bubble_begin_ns,
      [](const Failure& failure, int64_t begin_ns) { return failure.begin_ns < begin_ns; });
  const bool is_it =
      found != failures.end() && found->begin_ns == unit.bubble_begin_ns && found->seq == unit.seq;
  return is_it ? static_cast<size_t>(found - failures.begin()) : kNone;
}

UnitSplit UnitLedger::SplitOfUnit(const UnitTrace& unit) const {
  const size_t failure = FailureOf(unit);
  if (failure != kNone) return SplitOf(unit, trace_.ranks[unit.rank].failures[failure]);
  const size_t bubble = BubbleOf(unit);
  if (bubble == kNone) return {.in_bubble_ns = 0, .overrun_ns = std::max<int64_t>(unit.cpu_ns, 0)};
  return SplitOf(unit, trace_.ranks[unit.rank].bubbles[bubble]);
}

}  // namespace pipefill
