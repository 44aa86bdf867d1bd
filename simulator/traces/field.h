// Fields of traces as they are written: numbers, times, and the many ways to write nothing.
//
// Pure.
#ifndef SIMULATOR_TRACES_FIELD_H_
#define SIMULATOR_TRACES_FIELD_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace pipefill::simulator {

// Anything else cannot be a name of a tenant, nor be printed.
bool IsUtf8(absl::string_view text);

// "", "-", "-1", "None", "null", "NaN", "NA", "N/A", "Unknown", in any case.
bool IsMissing(absl::string_view field);

enum class FieldState { kGood, kMissing, kBroken };

template <typename Value>
struct Field {
  FieldState state = FieldState::kMissing;
  Value value = {};
};

// Beyond this a number is broken: some 30,000 years in seconds.
inline constexpr double kNumberMax = 1e12;

Field<double> ParseNumber(absl::string_view text);
// Seconds, or "2017-10-09 07:01:31", also with "T" between, parts of a second, and "Z" or
// "+08:00" behind; without those in `zone`. Seconds are left as they are; dates come as seconds
// since 1970.
Field<absl::Duration> ParseTraceTime(absl::string_view text, absl::TimeZone zone);

}  // namespace pipefill::simulator

#endif  // SIMULATOR_TRACES_FIELD_H_
