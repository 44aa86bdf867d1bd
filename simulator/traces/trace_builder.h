// Puts a trace together, row by row.
//
// Thread-compatible.
#ifndef SIMULATOR_TRACES_TRACE_BUILDER_H_
#define SIMULATOR_TRACES_TRACE_BUILDER_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "simulator/traces/trace.h"

namespace pipefill::simulator {

// Beyond, a trace is refused rather than held in memory: some 500 MB.
inline constexpr size_t kTraceJobsMax = 10'000'000;

class TraceBuilder {
 public:
  // `place`: what numbers of rows are called.
  TraceBuilder(std::string source, std::string place);

  // Index into Trace::names; 0 for a field that is missing.
  uint32_t NameOf(absl::string_view name);
  // One row: `job` if there is no reason to skip it. ResourceExhausted beyond kTraceJobsMax.
  absl::Status AddRow(int64_t place_number, std::optional<SkipReason> skipped, const TraceJob& job);
  void AddJoined(TraceRows rows) { trace_.joined.push_back(std::move(rows)); }
  int64_t rows() const { return trace_.rows.rows; }
  const std::string& source() const { return trace_.rows.source; }

  // With its jobs in order. Once.
  Trace Finish();

 private:
  Trace trace_;
  absl::flat_hash_map<std::string, uint32_t> numbers_;  // of names
};

}  // namespace pipefill::simulator

#endif  // SIMULATOR_TRACES_TRACE_BUILDER_H_
