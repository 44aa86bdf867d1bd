#include "cli/report/chart_axis.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "absl/strings/str_format.h"
#include "cli/output.h"

namespace pipefill {
namespace {

constexpr double kTicks = 6;  // aimed at
// An axis starts at 0 unless its values all lie in the upper part of it.
constexpr double kLowMin = 0.85;
// Values that differ by less, relatively, are one value: their labels would hardly differ.
constexpr double kSameUpTo = 1e-3;
// Shown as 0.
constexpr double kNothing = 1e-12;
// Decades up to which a logarithmic axis names more than powers of ten.
constexpr double kShortDecades = 2.5;

// 1, 2 or 5 times a power of ten.
double RoundStep(double span) {
  const double raw = span / kTicks;
  const double power = std::pow(10, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (raw <= factor * power * 1.0001) return factor * power;
  }
  return 10 * power;
}

bool IsOneValue(double low, double high) {
  const double largest = std::max(std::abs(low), std::abs(high));
  return !(high - low > std::max(kSameUpTo * largest, kNothing));
}

void AddTicks(Axis& axis, double step) {
  const auto first = static_cast<int64_t>(std::ceil(axis.begin / step - 1e-6));
  const auto last = static_cast<int64_t>(std::floor(axis.end / step + 1e-6));
  for (int64_t i = first; i <= last; ++i) {
    const double value = static_cast<double>(i) * step;
    axis.ticks.push_back({value, AxisNumber(value)});
  }
}

}  // namespace

double Axis::Share(double value) const {
  double share = 0;
  if (is_logarithmic) {
    share = value <= begin ? 0 : std::log(value / begin) / std::log(end / begin);
  } else {
    share = (value - begin) / (end - begin);
  }
  return std::clamp(share, 0.0, 1.0);
}

Axis RoundAxis(double low, double high) {
  Axis axis;
  if (low > 0 && low < kLowMin * high) low = 0;
  if (high < 0 && high > kLowMin * low) high = 0;
  if (IsOneValue(low, high)) {
    low = std::min(low, 0.0);
    high = std::max(high, 0.0);
    if (IsOneValue(low, high)) high = low + 1;
  }
  const double step = RoundStep(high - low);
  axis.begin = std::floor(low / step + 1e-6) * step;
  axis.end = std::ceil(high / step - 1e-6) * step;
  AddTicks(axis, step);
  return axis;
}

Axis ExactAxis(double low, double high) {
  Axis axis{.begin = low, .end = high, .is_logarithmic = false, .ticks = {}};
  AddTicks(axis, RoundStep(high - low));
  return axis;
}

Axis LogarithmicAxis(double low, double high) {
  if (!(low > 0)) return RoundAxis(low, high);
  if (IsOneValue(low, high)) {
    low /= 2;
    high *= 2;
  }
  Axis axis{.begin = low, .end = high, .is_logarithmic = true, .ticks = {}};
  const bool is_short = std::log10(high / low) <= kShortDecades;
  const int first = static_cast<int>(std::floor(std::log10(low)));
  const int last = static_cast<int>(std::ceil(std::log10(high)));
  for (int decade = first; decade <= last; ++decade) {
    for (const int factor : {1, 2, 5}) {
      const double value = factor * std::pow(10, decade);
      const bool is_inside = value >= low * 0.9999 && value <= high * 1.0001;
      if (is_inside && (factor == 1 || is_short)) axis.ticks.push_back({value, AxisNumber(value)});
    }
  }
  return axis;
}

std::string AxisNumber(double value) {
  if (std::abs(value) >= 1000 && std::abs(value) < 1e15 && value == std::round(value)) {
    return FormatCount(static_cast<int64_t>(value));
  }
  const double shown = std::abs(value) < kNothing ? 0 : value;
  return absl::StrFormat("%.6g", shown);
}

}  // namespace pipefill
