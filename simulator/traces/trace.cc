#include "simulator/traces/trace.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace pipefill::simulator {
namespace {

struct ReasonWords {
  const char* key;
  const char* text;
};

ReasonWords WordsOf(SkipReason reason) {
  switch (reason) {
    case SkipReason::kBroken:
      return {"broken", "broken"};
    case SkipReason::kPart:
      return {"part", "part of a job in another row"};
    case SkipReason::kNoSubmission:
      return {"no_submission", "without a time of submission"};
    case SkipReason::kNoRun:
      return {"no_run", "did not run, or to no end"};
    case SkipReason::kEndsBeforeStart:
      return {"ends_before_start", "ended before they started"};
    case SkipReason::kNoGpu:
      return {"no_gpu", "asked for no GPU"};
    case SkipReason::kStatus:
      return {"status", "of another status"};
    case SkipReason::kTooManyGpus:
      return {"too_many_gpus", "beyond gpus_max"};
    case SkipReason::kTooShort:
      return {"too_short", "below device_hours_min"};
    case SkipReason::kTooLong:
      return {"too_long", "beyond device_hours_max"};
    case SkipReason::kOutside:
      return {"outside", "outside the hours simulated"};
  }
  return {"", ""};
}

}  // namespace

absl::string_view SkipKey(SkipReason reason) { return WordsOf(reason).key; }

void TraceRows::Skip(SkipReason reason, int64_t place_number) {
  SkippedRows& those = skipped[static_cast<size_t>(reason)];
  if (those.rows++ == 0) those.first = place_number;
}

int64_t TraceRows::used() const {
  int64_t left = rows;
  for (const SkippedRows& those : skipped) left -= those.rows;
  return left;
}

std::string RowsText(const TraceRows& rows) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < kSkipReasons; ++i) {
    const SkippedRows& those = rows.skipped[i];
    if (those.rows == 0) continue;
    parts.push_back(absl::StrCat(those.rows, " ", WordsOf(static_cast<SkipReason>(i)).text));
    if (those.first > 0) {
      absl::StrAppend(&parts.back(), " (", rows.place, " ", those.first, " first)");
    }
  }
  std::string text = absl::StrCat(rows.source, ": ", rows.rows,
                                  rows.rows == 1 ? " row, " : " rows, ", rows.used(), " used");
  if (!parts.empty()) absl::StrAppend(&text, "; skipped: ", absl::StrJoin(parts, ", "));
  return text;
}

}  // namespace pipefill::simulator
