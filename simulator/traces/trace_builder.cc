#include "simulator/traces/trace_builder.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "simulator/traces/field.h"

namespace pipefill::simulator {

TraceBuilder::TraceBuilder(std::string source, std::string place) {
  trace_.rows.source = std::move(source);
  trace_.rows.place = std::move(place);
  trace_.names.emplace_back();
}

uint32_t TraceBuilder::NameOf(absl::string_view name) {
  if (IsMissing(name)) return 0;
  const auto [place, is_new] =
      numbers_.try_emplace(name, static_cast<uint32_t>(trace_.names.size()));
  if (is_new) trace_.names.emplace_back(name);
  return place->second;
}

absl::Status TraceBuilder::AddRow(int64_t place_number, std::optional<SkipReason> skipped,
                                  const TraceJob& job) {
  ++trace_.rows.rows;
  if (skipped.has_value()) {
    trace_.rows.Skip(*skipped, place_number);
    return absl::OkStatus();
  }
  if (trace_.jobs.size() == kTraceJobsMax) {
    return absl::ResourceExhaustedError(absl::StrCat(trace_.rows.source, ": more than ",
                                                     kTraceJobsMax, " jobs; give a part of it"));
  }
  trace_.jobs.push_back(job);
  return absl::OkStatus();
}

Trace TraceBuilder::Finish() {
  std::stable_sort(trace_.jobs.begin(), trace_.jobs.end(),
                   [](const TraceJob& a, const TraceJob& b) { return a.submitted < b.submitted; });
  if (!trace_.jobs.empty()) trace_.begin = trace_.jobs.front().submitted;
  return std::move(trace_);
}

}  // namespace pipefill::simulator
