// The jobs of a trace of a cluster, whatever its format, and what became of each of its rows.
//
// Pure.
#ifndef SIMULATOR_TRACES_TRACE_H_
#define SIMULATOR_TRACES_TRACE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace pipefill::simulator {

struct TraceJob {
  // In the trace's own clock; see Trace::begin.
  absl::Duration submitted;
  // GPUs that it asked for, times how long it ran; > 0.
  absl::Duration device_time;
  double gpus = 0;  // > 0; half of one is 0.5
  // Indices into Trace::names; 0 = not known.
  uint32_t user = 0;
  uint32_t status = 0;
};

// Why a row is no arrival.
enum class SkipReason : uint8_t {
  // The row itself.
  kBroken,
  kPart,
  kNoSubmission,
  kNoRun,
  kEndsBeforeStart,
  kNoGpu,
  // What the scenario takes of the trace.
  kStatus,
  kTooManyGpus,
  kTooShort,
  kTooLong,
  kOutside,
};
inline constexpr size_t kSkipReasons = 11;

// "no_gpu", for programs.
absl::string_view SkipKey(SkipReason reason);

struct SkippedRows {
  int64_t rows = 0;
  int64_t first = 0;  // place of the first one in the file; 0 = not known
};

// Each row of a file is counted once: as used, or under one reason.
struct TraceRows {
  std::string source;          // the file
  std::string place = "line";  // what places are numbers of
  int64_t rows = 0;
  std::array<SkippedRows, kSkipReasons> skipped = {};

  void Skip(SkipReason reason, int64_t place_number);
  int64_t used() const;
};

// In one line: "jobs.csv: 812 rows, 800 used; skipped: 9 asked for no GPU (line 4 first), ...".
std::string RowsText(const TraceRows& rows);

struct Trace {
  std::vector<TraceJob> jobs;      // in the order of submission
  std::vector<std::string> names;  // of users and statuses; names[0] is empty
  absl::Duration begin;            // the first submission; 0 without jobs
  TraceRows rows;
  std::vector<TraceRows> joined;  // of files that only add to those rows
};

}  // namespace pipefill::simulator

#endif  // SIMULATOR_TRACES_TRACE_H_
