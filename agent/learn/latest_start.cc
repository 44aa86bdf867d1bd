#include "agent/learn/latest_start.h"

#include <cmath>
#include <cstddef>

#include "client/pages/window_page.h"
#include "common/check.h"

namespace pipefill {
namespace {

// Solves  sum of max(0, t + unit - L) = bound  for t; the sum is over `lengths`, which grow. The
// sum grows with t, steeper at each length: with the first k lengths below t + unit it is k * (t +
// unit) - (L1 + ... + Lk).
double SolveForStart(std::span<const int64_t> lengths, double unit, double bound) {
  double sum = 0.0;
  double end = 0.0;  // t + unit
  for (size_t k = 1; k <= lengths.size(); ++k) {
    sum += static_cast<double>(lengths[k - 1]);
    end = (bound + sum) / static_cast<double>(k);
    if (k == lengths.size() || end <= static_cast<double>(lengths[k])) break;
  }
  return end - unit;
}

}  // namespace

StartLimit FindStartLimit(std::span<const int64_t> lengths_ns, int64_t unit_ns,
                          double overrun_ratio) {
  CHECK(unit_ns > 0 && overrun_ratio > 0.0 && overrun_ratio < 1.0);
  const size_t count = lengths_ns.size();
  const double unit = static_cast<double>(unit_ns);

  // Between length i - 1 and length i, the lengths from i on are those that still count. g grows in
  // there, so it is enough to look at its value just before length i. `over` counts the lengths
  // that a unit ending at length i + unit outlasts; `over_sum` is their sum.
  size_t over = 0;
  double over_sum = 0.0;
  for (size_t i = 0; i < count; ++i) {
    const int64_t end_ns = lengths_ns[i] + unit_ns;
    for (; over < count && lengths_ns[over] < end_ns; ++over) {
      over_sum += static_cast<double>(lengths_ns[over]);
    }
    const double bound = overrun_ratio * unit * static_cast<double>(count - i);
    const double overrun = static_cast<double>(over - i) * static_cast<double>(end_ns) - over_sum;
    // Just before the longest length g is the whole unit: at the latest the bound breaks there.
    if (overrun > bound || i + 1 == count) {
      const double start = SolveForStart(lengths_ns.subspan(i), unit, bound);
      return {.start_ns = start < 0.0 ? kNever : static_cast<int64_t>(std::floor(start)),
              .piece = i};
    }
    over_sum -= static_cast<double>(lengths_ns[i]);
  }
  return {.start_ns = kNever, .piece = 0};
}

int64_t FindLatestStart(std::span<const int64_t> lengths_ns, int64_t unit_ns,
                        double overrun_ratio) {
  return FindStartLimit(lengths_ns, unit_ns, overrun_ratio).start_ns;
}

}  // namespace pipefill
