#include "agent/learn/start_table.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "agent/learn/latest_start.h"

namespace pipefill {
namespace {

constexpr int kHalvings = 3;

// One interval of the ladder, whose longer entry is already published.
class Interval {
 public:
  Interval(std::span<const int64_t> lengths_ns, double overrun_ratio, int64_t longer_unit_ns,
           int64_t longer_start_ns)
      : lengths_ns_(lengths_ns),
        overrun_ratio_(overrun_ratio),
        longer_unit_ns_(longer_unit_ns),
        longer_start_ns_(longer_start_ns) {}

  // What may be published for the shorter entry, whose own limit is `shorter`.
  int64_t Lower(int64_t shorter_unit_ns, const StartLimit& shorter, const StartLimit& longer) {
    shorter_unit_ns_ = shorter_unit_ns;
    lowered_ns_ = shorter.start_ns;
    Look(shorter_unit_ns, shorter, longer_unit_ns_, longer, kHalvings);
    return lowered_ns_;
  }

 private:
  // The line must stay below the cut-off from `unit_ns` to `end_unit_ns`.
  void Look(int64_t unit_ns, const StartLimit& limit, int64_t end_unit_ns, const StartLimit& end,
            int halvings) {
    if (limit.piece == end.piece) return Bound(unit_ns, limit.start_ns);
    if (halvings == 0 || end_unit_ns - unit_ns < 2) return Bound(unit_ns, end.start_ns);
    const int64_t half_ns = unit_ns + (end_unit_ns - unit_ns) / 2;
    const StartLimit half = FindStartLimit(lengths_ns_, half_ns, overrun_ratio_);
    Look(unit_ns, limit, half_ns, half, halvings - 1);
    Look(half_ns, half, end_unit_ns, end, halvings - 1);
  }

  // The line may be at `start_ns` at most at `unit_ns`, which is shorter than the longer entry.
  void Bound(int64_t unit_ns, int64_t start_ns) {
    const auto width = static_cast<double>(longer_unit_ns_ - shorter_unit_ns_);
    const double stretch = width / static_cast<double>(longer_unit_ns_ - unit_ns);
    const auto height = static_cast<double>(start_ns - longer_start_ns_);
    const auto at_shorter_ns =
        longer_start_ns_ + static_cast<int64_t>(std::floor(height * stretch));
    lowered_ns_ = std::min(lowered_ns_, at_shorter_ns);
  }

  const std::span<const int64_t> lengths_ns_;
  const double overrun_ratio_;
  const int64_t longer_unit_ns_;
  const int64_t longer_start_ns_;
  int64_t shorter_unit_ns_ = 0;
  int64_t lowered_ns_ = kNever;
};

}  // namespace

UnitLadder MakeStartTable(std::span<const int64_t> lengths_ns, const UnitLadder& unit_ns,
                          double overrun_ratio) {
  UnitLadder table;
  table.fill(kNever);
  std::array<StartLimit, kUnitLadder> limits;
  for (size_t i = 0; i < kUnitLadder; ++i) {
    limits[i] = FindStartLimit(lengths_ns, unit_ns[i], overrun_ratio);
    // Longer units may start no later.
    if (limits[i].start_ns == kNever) break;
  }
  for (size_t i = kUnitLadder; i-- > 0;) {
    table[i] = limits[i].start_ns;
    const bool has_line = i + 1 < kUnitLadder && limits[i + 1].start_ns != kNever;
    if (!has_line || unit_ns[i + 1] == unit_ns[i]) continue;
    Interval interval(lengths_ns, overrun_ratio, unit_ns[i + 1], table[i + 1]);
    table[i] = interval.Lower(unit_ns[i], limits[i], limits[i + 1]);
  }
  return table;
}

}  // namespace pipefill
