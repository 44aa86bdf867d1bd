// Axes of charts: where values lie between their ends, and which round numbers stand beside them.
//
// Pure.
#ifndef CLI_REPORT_CHART_AXIS_H_
#define CLI_REPORT_CHART_AXIS_H_

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

namespace pipefill {

struct AxisTick {
  double value = 0;
  std::string label;
};

struct Axis {
  double begin = 0;
  double end = 1;               // > begin
  bool is_logarithmic = false;  // begin > 0 then
  std::vector<AxisTick> ticks;

  // Where `value` lies: 0 at the begin, 1 at the end, and never beyond.
  double Share(double value) const;
};

// The least and the most of some values.
struct ValueRange {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void Add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool is_empty() const { return low > high; }
  // Over values above 0 that span such a factor.
  bool IsForLogarithm(double factor) const { return low > 0 && high >= factor * low; }
};

// Ticks at 1, 2 or 5 times a power of ten, at most about ten of them, the first and the last at the
// ends: the axis holds [low, high] and, unless that would leave most of it empty, 0. Values that
// differ by less than a thousandth count as one.
Axis RoundAxis(double low, double high);
// From `low` to `high` as they are, with round ticks between. REQUIRES: low < high.
Axis ExactAxis(double low, double high);
// Ticks at powers of ten, and at 2 and 5 times them on a short axis. A round axis unless low > 0.
Axis LogarithmicAxis(double low, double high);

// "0", "0.5", "12", "8,192": as few digits as say it.
std::string AxisNumber(double value);

}  // namespace pipefill

#endif  // CLI_REPORT_CHART_AXIS_H_
