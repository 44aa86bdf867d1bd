// What a fill task wrote about its units while it was profiled, and the profile and table that
// follow from it. The text is that of client/profile/profile_recorder.h.
//
// Pure.
#ifndef CLI_PROFILE_MEASURED_UNITS_H_
#define CLI_PROFILE_MEASURED_UNITS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/profile.pb.h"

namespace pipefill {

// The units of one kind and size.
struct MeasuredUnits {
  uint32_t label = 0;
  uint32_t size = 0;  // 0 = not elastic
  int64_t count = 0;
  int64_t total_ns = 0;
  int64_t p50_ns = 0;
  int64_t p90_ns = 0;
  int64_t max_ns = 0;

  int64_t mean_ns() const { return count > 0 ? total_ns / count : 0; }
};

// InvalidArgument names the line.
absl::StatusOr<std::vector<MeasuredUnits>> ParseMeasuredUnits(absl::string_view text);

// One run of the program.
struct MeasuredRun {
  int64_t batch_size = 0;  // that it was told; 0 = none
  int64_t memory_peak_bytes = 0;
  std::vector<MeasuredUnits> units;
};

// The configurations that runs show. A run with elastic units gives one for each size of the label
// with most of them ("n8": a sample is a piece), rare ones left out; with a batch size that it was
// told, one alone, of the largest size. A run without gives one ("default", "batch8"): its kinds
// one behind the other, in proportion to how often they ran; a sample is a unit, or one of its
// batch.
std::vector<v1::FillConfiguration> ConfigurationsOf(const MeasuredRun& run);

// NAME, UNITS, MEAN .. of all configurations. `runs` as they were measured.
std::string UnitTable(const std::vector<MeasuredRun>& runs);

// As `submit --profile` reads it.
std::string ProfileJsonText(const v1::FillProfile& profile);

}  // namespace pipefill

#endif  // CLI_PROFILE_MEASURED_UNITS_H_
