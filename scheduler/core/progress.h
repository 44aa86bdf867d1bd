// What the units of an attempt have done, and how fast.
//
// Pure.
#ifndef SCHEDULER_CORE_PROGRESS_H_
#define SCHEDULER_CORE_PROGRESS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "common/instant.h"

namespace pipefill::scheduler {

// As the agent last reported it. Of an ended attempt units, unit_cpu_ns and unit_estimate_ns are
// durable; nothing else is.
struct FillProgress {
  int64_t units = 0;
  int64_t unit_cpu_ns = 0;
  int64_t unit_cpu_in_bubble_ns = 0;
  int64_t overrun_ns = 0;
  int64_t bubbles_denied = 0;
  int64_t unit_estimate_ns = 0;
  int64_t memory_peak_bytes = 0;
  int64_t task_cpu_ns = 0;
  int64_t units_overrun = 0;
  int64_t bubbles_skipped = 0;
  int64_t overstays = 0;
  int64_t freezes = 0;
  std::string memory_guard = {};
  std::string stopped_by = {};
  std::string log_error = {};
  int64_t processes_denied = 0;
  int64_t checkpoints = 0;
  int64_t checkpoint_failures = 0;
  int64_t checkpoint_ns = 0;
  int64_t checkpoint_unix_ns = 0;
  std::string resumed_from = {};
  int64_t pieces = 0;

  friend bool operator==(const FillProgress&, const FillProgress&) = default;
};

inline constexpr absl::Duration kMarkEvery = absl::Seconds(4);

// Units of an attempt after which its times are what they will be.
inline constexpr int64_t kUnitsToSettle = 64;

struct ProgressMark {
  FillProgress progress = {};
  std::optional<Instant> at = std::nullopt;

  friend bool operator==(const ProgressMark&, const ProgressMark&) = default;
};

// How an attempt that has done kUnitsToSettle units goes on. Not durable.
struct Pace {
  // The first report with so many units: the ones before it are slow, since memory is new and
  // libraries set themselves up.
  FillProgress settled = {};
  // The progress as it was some seconds ago: at least kMarkEvery before the last report, at most
  // twice that once there are enough reports.
  // They begin anew when others come to its device or leave it.
  ProgressMark older_mark = {};
  ProgressMark newer_mark = {};
  int32_t mark_resident = 0;  // tasks on its device since the marks began

  friend bool operator==(const Pace&, const Pace&) = default;
};

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_CORE_PROGRESS_H_
